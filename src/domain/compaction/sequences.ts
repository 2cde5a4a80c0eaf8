import type { Group } from '../group.ts';
import type { Policy } from '../policy.ts';
import type { Sliced } from '../sliced.ts';
import type { SeqRange } from '../version.ts';
import type { Layout } from './layout.ts';
import { SpanIndex } from './span-index.ts';

/** A run of removable groups. Positions are indexes of the layout's items. Seqs and positions are inclusive. */
export interface Run extends SeqRange {
  readonly fromPosition: number;
  readonly toPosition: number;
  readonly messages: number;
  readonly tokens: number;
  /** Tokens outside of summaries. */
  readonly newTokens: number;
  readonly hasSummary: boolean;
}

/** Positions that are examined between two yields. */
const BORDERS_A_SLICE = 4_096;

export interface FoundSequences {
  /** Runs that each get a summarization job. */
  readonly eligible: readonly Run[];
  /** Runs with a summary that wait until more is new. */
  readonly waiting: readonly Run[];
}

/**
 * Finds the sequences of a layout. A run with a summary waits until its new messages weigh as much as the summary. A
 * merge at every turn would summarize a history of n turns n times. A token reason cannot wait that long: then
 * `minSequenceTokens` of new messages are enough.
 */
export function* findSequences(layout: Layout, policy: Policy, isTokenBound: boolean): Sliced<FoundSequences> {
  const eligible: Run[] = [];
  const waiting: Run[] = [];
  for (const run of yield* findRuns(layout, policy.scope)) {
    const isRipe = !run.hasSummary || run.newTokens >= summaryTokens(run);
    const isUrgent = isTokenBound && run.newTokens >= policy.minSequenceTokens;
    const isLarge = run.messages >= policy.minSequenceMessages && run.tokens >= policy.minSequenceTokens;
    if (isLarge && (isRipe || isUrgent) && run.newTokens > 0) eligible.push(run);
    else if (!isRipe && !isTokenBound && run.newTokens > 0) waiting.push(run);
  }
  return { eligible, waiting };
}

function summaryTokens(run: Run): number {
  return run.tokens - run.newTokens;
}

/**
 * Finds maximal runs of removable groups in which every group lies whole. With scope `sequences`, user messages
 * separate runs. With scope `prefix`, one run takes everything old, even the first user message. Code copies the text
 * of user messages into its summary.
 */
function* findRuns(layout: Layout, scope: Policy['scope']): Sliced<Run[]> {
  const { items, groups, groupOf, protections } = layout;
  const isCandidate = groups.map(({ kind }, index) => {
    const protection = protections[index];
    const isFirst = protection === 'first_user' && (scope === 'prefix' || kind === 'summary');
    return (protection === undefined && (scope === 'prefix' || kind !== 'user')) || isFirst;
  });
  const spans = groups.flatMap(({ positions }, group) =>
    isCandidate[group] === true && positions.length > 1
      ? [{ group, first: positions[0] as number, last: positions.at(-1) as number }]
      : [],
  );
  yield;
  const index = new SpanIndex(spans);
  yield;
  // A group outside of all runs separates the groups around it. These leave their runs, too, and may separate others.
  const outside = items.keys().filter((position) => isCandidate[groupOf[position] as number] !== true);
  const borders = [...outside];
  for (let border = borders.pop(), passed = 1; border !== undefined; border = borders.pop(), passed += 1) {
    if (passed % BORDERS_A_SLICE === 0) yield;
    for (const { group } of index.takeAround(border)) {
      isCandidate[group] = false;
      for (const position of (groups[group] as Group).positions) borders.push(position);
    }
  }
  yield;
  const runOf = numberRuns(groupOf, isCandidate);
  yield;
  return collectRuns(items, runOf);
}

/** Returns the number of the run for each position, or −1. */
function numberRuns(groupOf: readonly number[], isCandidate: readonly boolean[]): number[] {
  let run = -1;
  let isInside = false;
  return groupOf.map((group) => {
    if (isCandidate[group] !== true) {
      isInside = false;
      return -1;
    }
    if (!isInside) run += 1;
    isInside = true;
    return run;
  });
}

function collectRuns(items: Layout['items'], runOf: readonly number[]): Run[] {
  const runs: Run[] = [];
  let start = 0;
  while (start < items.length) {
    let end = start;
    while (end + 1 < items.length && runOf[end + 1] === runOf[start]) end += 1;
    if (runOf[start] !== -1) runs.push(describeRun(items, start, end));
    start = end + 1;
  }
  return runs;
}

export function describeRun(items: Layout['items'], fromPosition: number, toPosition: number): Run {
  const members = items.slice(fromPosition, toPosition + 1);
  const isSummary = (item: (typeof members)[number]): boolean => item.message.role === 'summary';
  const tokens = members.reduce((sum, item) => sum + item.tokens, 0);
  return {
    from: (members[0] as (typeof members)[number]).from,
    to: (members.at(-1) as (typeof members)[number]).to,
    fromPosition,
    toPosition,
    messages: members.length,
    tokens,
    newTokens: members.reduce((sum, item) => sum + (isSummary(item) ? 0 : item.tokens), 0),
    hasSummary: members.some(isSummary),
  };
}
