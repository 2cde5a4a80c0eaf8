import type { Violation } from '../../../src/wire/wire-request.ts';

/** A malformed request body, with all violations that the validator must report, as `rule path`. */
export type BrokenCase = readonly [what: string, body: unknown, broken: readonly string[]];

export function nameViolations(violations: readonly Violation[]): string[] {
  return violations.map(({ rule, path }) => `${rule} ${path}`.trim());
}

/** Returns values that the validator must report as malformed without throwing. */
export function garbage(list: string): unknown[] {
  let deep: unknown = [];
  for (let depth = 0; depth < 50_000; depth += 1) deep = [deep];
  let nested: unknown = 'text';
  for (let depth = 0; depth < 50_000; depth += 1) nested = [{ type: 'tool_result', tool_use_id: 'a', content: nested }];
  const entries = [null, 5, 'text', [], {}, { role: 5 }, { role: 'user' }, { role: 'user', content: 5 }, { type: 5 }];
  const contents = [null, 5, [], {}, { type: 5 }, { type: 'text' }, { type: 'tool_use' }, { type: 'tool_result' }];
  return [
    undefined,
    null,
    5,
    'text',
    [],
    {},
    deep,
    { [list]: 5 },
    { [list]: deep },
    { [list]: [{ role: 'user', content: nested }] },
    { [list]: entries },
    { [list]: [{ role: 'user', content: contents }] },
    { [list]: [{ role: 'assistant', content: deep, tool_calls: contents }] },
    { [list]: [], tools: entries, system: entries },
  ];
}
