import type { Run } from '../trial/plan-strip.ts';

interface ShownRange {
  readonly kind: string;
  readonly from: number;
  readonly to: number;
}

/**
 * Divides the log up to `head` into runs of messages that the version shows in one way. Messages behind the version's
 * segments are shown unchanged.
 */
export function versionRuns(segments: readonly ShownRange[], head: number): Run<string>[] {
  const runs: Run<string>[] = [];
  const add = (kind: string, from: number, to: number): void => {
    if (to < from) return;
    const last = runs.at(-1);
    const messages = to - from + 1;
    if (last?.kind === kind) runs[runs.length - 1] = { ...last, to, messages: last.messages + messages };
    else runs.push({ kind, from, to, messages, tokens: 0 });
  };
  let next = 1;
  for (const { kind, from, to } of segments) {
    if (from > head) break;
    add('raw', next, from - 1);
    add(kind, from, Math.min(to, head));
    next = to + 1;
  }
  add('raw', next, head);
  return runs;
}
