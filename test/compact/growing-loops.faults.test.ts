import { describe, expect, test } from 'vitest';
import { type CompactState, compactMessages } from '../../src/compact.ts';
import type { MessageFormat } from '../../src/evaluation/compact/kinds/kind.ts';
import { DIALECTS, type Dialect, stepOf } from './dialects.ts';
import { countRequest, expectPaired, listCallIds } from './requests.ts';

const STEPS = 100;
const WINDOW = 8_000;

interface Run {
  readonly compactions: number;
  readonly prefixChanges: number;
  readonly prefixChangesElsewhere: number;
  readonly largest: number;
}

/** @param feedsBack true: the caller keeps only what was returned */
async function runLoop(dialect: Dialect, format: MessageFormat, feedsBack: boolean): Promise<Run> {
  let messages: unknown[] = [];
  let state: CompactState | undefined;
  let before: string[] = [];
  const run = { compactions: 0, prefixChanges: 0, prefixChangesElsewhere: 0, largest: 0 };
  for (let step = 0; step < STEPS; step += 1) {
    messages = [...messages, ...stepOf(dialect, step)];
    const given = messages;
    const copy = structuredClone(given);
    const compacted = await compactMessages({ messages: given, format, window: WINDOW, ...(state && { state }) });
    expect(given).toStrictEqual(copy);
    expect(compacted.changed).toBe(compacted.messages !== given);
    // Passing a state through a store changes nothing.
    state = JSON.parse(JSON.stringify(compacted.state)) as CompactState;
    run.largest = Math.max(run.largest, countRequest(compacted.messages));
    expectPaired(compacted.messages);
    expect(listCallIds(compacted.messages).calls).toContain(`call-${step}`);
    const now = compacted.messages.map((message) => JSON.stringify(message));
    const isKept = before.every((message, index) => now[index] === message);
    if (compacted.report.kind !== 'none') run.compactions += 1;
    if (!isKept) run.prefixChanges += 1;
    if (!isKept && compacted.report.kind === 'none') run.prefixChangesElsewhere += 1;
    before = now;
    if (feedsBack) messages = compacted.messages;
  }
  return run;
}

const formats = Object.entries(DIALECTS) as [MessageFormat, Dialect][];

describe.each([
  ['the whole history', false],
  ['what the call before returned', true],
])('a loop that passes %s', (_, feedsBack) => {
  test.each(formats)(
    'compactMessages keeps a loop over 100 steps of %s inside the window, and changes its start only at compactions',
    async (format, dialect) => {
      const run = await runLoop(dialect, format, feedsBack);
      expect(run.largest).toBeLessThanOrEqual(WINDOW);
      expect(run.largest).toBeGreaterThan(WINDOW / 2);
      expect(run.prefixChangesElsewhere).toBe(0);
      expect(run.compactions).toBeGreaterThan(3);
      expect(run.prefixChanges).toBeLessThanOrEqual(run.compactions);
    },
  );
});
