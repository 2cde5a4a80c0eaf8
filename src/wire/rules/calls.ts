import type { Breach } from './rule.ts';
import type { BodyView } from './view.ts';

/** X6: every tool that is called is described in `tools`, and none of them twice. */
export function* describesTools({ calls, tools }: BodyView): Generator<Breach> {
  const described = new Set<string>();
  for (const { path, name } of tools) {
    if (described.has(name)) yield { path, message: 'the name of this tool stands twice' };
    described.add(name);
  }
  for (const { path, name } of calls) {
    if (name !== undefined && !described.has(name)) yield { path, message: 'the tool of this call is not in tools' };
  }
}

/** X7: arguments are a JSON object. */
export function* hasObjectArguments({ calls }: BodyView): Generator<Breach> {
  for (const call of calls) {
    if ('input' in call && !isObject(call.input))
      yield { path: call.path, message: 'the arguments are no JSON object' };
  }
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
