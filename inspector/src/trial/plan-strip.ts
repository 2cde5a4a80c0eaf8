/**
 * Converts a plan to the blocks of a strip: `planRuns` → `layOutRuns` → one rectangle for each block.
 *
 * A plan names ranges, and a strip shows the whole log. So the log is divided into runs of neighbouring messages with
 * one fate. The blocks of the strip, its legend and the list of changed ranges all follow from the runs.
 *
 * A strip has at most 240 blocks, so that a log of 10,000 messages does not make 10,000 elements. Each column of the
 * strip has the kind with the most weight in it.
 *
 * The strip of the present context stands above the strip of the plan. Both leave out the same messages, so that they
 * align.
 */

/** `gone`: an earlier compaction took the message out of the context. */
export type PlanAction = 'protect' | 'keep' | 'mask' | 'summarize' | 'evict' | 'gone';

export const PLAN_ACTIONS: readonly PlanAction[] = ['protect', 'keep', 'mask', 'summarize', 'evict', 'gone'];

interface Range {
  readonly from: number;
  readonly to: number;
}

interface PlannedRanges {
  readonly summarize: readonly Range[];
  readonly evict: readonly Range[];
  readonly mask: readonly Range[];
  readonly protected: readonly number[];
}

interface StripEntry {
  readonly seq: number;
  readonly tokens: number;
  readonly state: string;
}

export interface Run<Kind extends string = PlanAction> extends Range {
  readonly kind: Kind;
  readonly messages: number;
  readonly tokens: number;
}

export function planRuns(entries: readonly StripEntry[], plan: PlannedRanges): Run[] {
  const summarized = seqsOf(plan.summarize);
  const evicted = seqsOf(plan.evict);
  const masked = seqsOf(plan.mask);
  const kept = new Set(plan.protected);
  return groupRuns(entries, ({ seq, state }) => {
    if (evicted.has(seq)) return 'evict';
    if (summarized.has(seq)) return 'summarize';
    if (state === 'archived' || state === 'summarized') return 'gone';
    if (masked.has(seq)) return 'mask';
    return kept.has(seq) ? 'protect' : 'keep';
  });
}

function seqsOf(ranges: readonly Range[]): ReadonlySet<number> {
  return new Set(ranges.flatMap(({ from, to }) => Array.from({ length: to - from + 1 }, (_, index) => from + index)));
}

/** @param hasGone true: both strips show the messages that are `gone` in the plan */
export function presentRuns(entries: readonly StripEntry[], plan: readonly Run[], hasGone: boolean): Run<string>[] {
  const gone = seqsOf(plan.filter(({ kind }) => kind === 'gone'));
  const shown = hasGone ? entries : entries.filter(({ seq }) => !gone.has(seq));
  return groupRuns(shown, ({ state }) => state);
}

function groupRuns<Kind extends string>(
  entries: readonly StripEntry[],
  kindOf: (entry: StripEntry) => Kind,
): Run<Kind>[] {
  const runs: Run<Kind>[] = [];
  for (const entry of entries) {
    const { seq, tokens } = entry;
    const kind = kindOf(entry);
    const last = runs.at(-1);
    if (last?.kind === kind) {
      runs[runs.length - 1] = { ...last, to: seq, messages: last.messages + 1, tokens: last.tokens + tokens };
    } else runs.push({ kind, from: seq, to: seq, messages: 1, tokens });
  }
  return runs;
}

export function sumRuns<Kind extends string>(runs: readonly Run<Kind>[]): ReadonlyMap<Kind, Sum> {
  const sums = new Map<Kind, Sum>();
  for (const { kind, messages, tokens } of runs) {
    const sum = sums.get(kind) ?? { messages: 0, tokens: 0 };
    sums.set(kind, { messages: sum.messages + messages, tokens: sum.tokens + tokens });
  }
  return sums;
}

interface Sum {
  readonly messages: number;
  readonly tokens: number;
}

/** `start` and `size` are shares of the width. */
interface Block<Kind extends string> {
  readonly kind: Kind;
  readonly start: number;
  readonly size: number;
}

export function layOutRuns<Kind extends string>(
  runs: readonly Run<Kind>[],
  weigh: (run: Run<Kind>) => number,
  columns = 240,
): Block<Kind>[] {
  const total = runs.reduce((sum, run) => sum + weigh(run), 0);
  if (total === 0) return [];
  let start = 0;
  const exact = runs.map((run) => {
    const block = { kind: run.kind, start, size: weigh(run) / total };
    start += block.size;
    return block;
  });
  return exact.length <= columns ? exact.filter(({ size }) => size > 0) : toColumns(exact, columns);
}

function toColumns<Kind extends string>(exact: readonly Block<Kind>[], columns: number): Block<Kind>[] {
  const blocks: Block<Kind>[] = [];
  let index = 0;
  for (let column = 0; column < columns; column += 1) {
    const [start, end] = [column / columns, (column + 1) / columns];
    const weights = new Map<Kind, number>();
    for (; index < exact.length; index += 1) {
      const block = exact[index] as Block<Kind>;
      const shared = Math.min(end, block.start + block.size) - Math.max(start, block.start);
      if (shared > 0) weights.set(block.kind, (weights.get(block.kind) ?? 0) + shared);
      if (block.start + block.size > end) break;
    }
    const [most] = [...weights].toSorted(([, one], [, other]) => other - one);
    const last = blocks.at(-1);
    if (most === undefined) continue;
    if (last?.kind === most[0]) blocks[blocks.length - 1] = { ...last, size: end - last.start };
    else blocks.push({ kind: most[0], start, size: end - start });
  }
  return blocks;
}
