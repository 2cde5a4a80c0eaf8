import type { Limits } from '../../domain/limits.ts';
import type { Role } from '../../domain/message.ts';
import type { BudgetDivision } from '../../domain/pass-plan.ts';
import type { SeqRange } from '../../domain/version.ts';
import {
  listFigures,
  MEANINGS,
  type ReplayedConversation,
  sumFigures,
  type TriedPolicy,
} from '../commands/replay/summary.ts';
import { drawBarPlot } from './bar-plot.ts';
import { type Markup, type MarkupValue, markup } from './markup.ts';
import { drawFacts, drawTable, figure, placeWide, writePage } from './report-page.ts';
import { formatCount } from './scale.ts';
import { drawSizePlot, type SizeBand, type SizeLimit, type SizePlot } from './size-plot.ts';

/** JSON output of `turnfold plan`. Message indexes begin at 0, and both ends of a range are included. */
export interface PlanLine {
  readonly id: string;
  readonly kind: string;
  readonly reasons: readonly string[];
  readonly tokens: number;
  readonly messages: number;
  readonly turns: number;
  readonly sequences: readonly SeqRange[];
  readonly evict: readonly SeqRange[];
  /** Sizes of the parts of the budget, in tokens. Null if the plan divides no budget. */
  readonly division: BudgetDivision | null;
  readonly protected: readonly number[];
  /** Tokens before the first change. Providers can read these tokens from their caches. */
  readonly prefixTokens: number;
  readonly why?: string;
}

export interface MessageSize {
  readonly role: Role;
  readonly tokens: number;
  readonly total: number;
}

export interface PlannedConversation {
  readonly planned: PlanLine;
  readonly sizes: readonly MessageSize[];
}

export function reportPlans(all: readonly PlannedConversation[], limits: Limits): string {
  const { plotted, skipped } = choosePlotted(all, ({ planned }) => planned.tokens);
  return writePage({
    title: 'Plans of one compaction',
    about: `Each conversation of the file with the plan of one compaction: ${formatCount(all.length)}.${skipped}`,
    sections: [tabulatePlans(all), ...plotted.map((one) => plotPlan(one, limits))],
  });
}

function tabulatePlans(all: readonly PlannedConversation[]): Markup {
  const rows = all.map(({ planned: { id, kind, reasons, tokens, messages, turns, prefixTokens } }) => [
    id,
    kind,
    reasons.join(', '),
    ...[tokens, messages, turns, prefixTokens].map((value) => figure(value)),
  ]);
  return drawTable({
    header: ['conversation', 'plan', 'reasons', 'tokens', 'messages', 'turns', 'unchanged at the start'],
    rows,
  });
}

function plotPlan({ planned, sizes }: PlannedConversation, limits: Limits): Markup {
  const { id, kind, reasons, tokens, messages } = planned;
  const plot = drawSizePlot({
    label: `Tokens of the context of ${id}, message by message`,
    axis: 'messages',
    first: 0,
    steps: sizes.map(({ role, tokens: own, total }, index) => ({
      tokens: total,
      title: `message ${index}, ${role}: ${formatCount(own)} tokens, ${formatCount(total)} with all before`,
    })),
    bands: listBands(planned),
    limits: listLimits(limits),
  });
  const why = reasons.length === 0 ? 'no reason to compact' : reasons.join(', ');
  return markup`<h2>${id}</h2>
<p class="quiet">${kind}: ${why}. ${formatCount(tokens)} tokens in ${formatCount(messages)} messages.</p>
${placeWide(plot)}
${describeRanges(planned)}${drawDivision(planned)}`;
}

function listBands({ kind, sequences, evict, protected: kept }: PlanLine): SizeBand[] {
  const name = ({ from, to }: SeqRange): string => (from === to ? `message ${from}` : `messages ${from}–${to}`);
  const planned = kind === 'summarize' ? sequences : [];
  return [
    ...planned.map((range) => ({ ...range, kind: 'summarize' as const, title: `${name(range)} become one summary` })),
    ...evict.map((range) => ({ ...range, kind: 'evict' as const, title: `${name(range)} leave the context` })),
    ...joinRanges(kept).map((range) => ({ ...range, kind: 'protected' as const, title: `${name(range)} must stay` })),
  ];
}

function joinRanges(positions: readonly number[]): SeqRange[] {
  const ranges: { from: number; to: number }[] = [];
  for (const position of positions) {
    const last = ranges.at(-1);
    if (last !== undefined && last.to === position - 1) last.to = position;
    else ranges.push({ from: position, to: position });
  }
  return ranges;
}

function describeRanges({ kind, sequences, evict, protected: kept }: PlanLine): Markup {
  const list = (ranges: readonly SeqRange[]): string =>
    ranges.map(({ from, to }) => (from === to ? `${from}` : `${from}–${to}`)).join(', ') || 'none';
  const key = (kindOfBand: SizeBand['kind'], name: string): Markup =>
    markup`<span class="key ${kindOfBand}"></span>${name}`;
  return drawFacts([
    [key('summarize', 'messages to summarize'), list(kind === 'summarize' ? sequences : [])],
    [key('evict', 'messages to remove'), list(evict)],
    [key('protected', 'messages that must stay'), list(joinRanges(kept))],
  ]);
}

function drawDivision({ id, division }: PlanLine): Markup | undefined {
  if (division === null) return undefined;
  const { budget, fixed, users, summaries, tail } = division;
  const parts = { 'fixed parts': fixed, "users' words": users, summaries, 'newest messages': tail };
  const bars = Object.entries(parts).map(([name, value]) => ({ name, value, text: `${formatCount(value)} tokens` }));
  const plot = drawBarPlot({ label: `Division of the budget of ${id}`, bars, max: budget });
  return markup`<h3>Division of the budget of ${figure(budget)} tokens</h3>${placeWide(plot)}`;
}

export function reportReplay(policies: readonly TriedPolicy[]): string {
  const [first] = policies;
  const all = first?.replayed ?? [];
  const { plotted, skipped } = choosePlotted(all, ({ figures }) => figures.tokensSent);
  return writePage({
    title: 'Replay of recorded conversations',
    about: `Conversations were replayed model call by model call and compacted as workers would: ${formatCount(all.length)}.${skipped}`,
    sections: [
      ...policies.map(tabulatePolicy),
      markup`${MEANINGS.map((meaning) => markup`<p class="quiet">${meaning}</p>`)}`,
      ...plotted.map(({ id }) => plotConversation(id, policies)),
    ],
  });
}

function tabulatePolicy({ name, replayed, limits }: TriedPolicy): Markup {
  const [first] = replayed;
  if (first === undefined) return markup`<h2>${name}</h2><p>No conversation could be replayed.</p>`;
  const cells = (figures: ReplayedConversation['figures']): MarkupValue[] =>
    listFigures(figures).map(({ value, text }) =>
      value === undefined ? text : figure(value, Number.isInteger(value) && text === `${value}` ? undefined : text),
    );
  const table = drawTable({
    header: ['conversation', ...listFigures(first.figures).map((one) => one.name)],
    rows: replayed.map(({ id, figures }) => [id, ...cells(figures)]),
    ...(replayed.length > 1 && { total: ['total', ...cells(sumFigures(replayed.map(({ figures }) => figures)))] }),
  });
  return markup`<h2>${name}</h2><p>Requests of at most ${formatCount(limits.usable ?? 0)} tokens.</p>${table}`;
}

function plotConversation(id: string, policies: readonly TriedPolicy[]): Markup {
  const plots = policies.flatMap(({ name, replayed, limits }) => {
    const found = replayed.find((conversation) => conversation.id === id);
    if (found === undefined) return [];
    const { requests, compactions, tokensSent } = found.figures;
    const figures = `${formatCount(requests)} requests, ${formatCount(compactions)} compactions, ${formatCount(tokensSent)} tokens sent`;
    const title = policies.length === 1 ? undefined : markup`<h3>${name}</h3>`;
    return [markup`${title}<p class="quiet">${figures}</p>${placeWide(drawSizePlot(plotReplay(found, limits)))}`];
  });
  return markup`<h2>${id}</h2>${plots}`;
}

export function plotReplay({ id, sizes, turns, versions }: ReplayedConversation, limits: Limits): SizePlot {
  return {
    label: `Tokens in each request of ${id}`,
    axis: 'model calls',
    first: 1,
    steps: sizes.map((tokens, index) => ({
      tokens,
      title: `model call ${index + 1}, turn ${turns[index] ?? 0}: ${formatCount(tokens)} tokens`,
    })),
    marks: versions.map(({ number, requestsBefore, reasons, strategy, tokensBefore, tokensAfter, archived }) => ({
      behind: requestsBefore,
      label: `v${number}`,
      title: `version ${number} before model call ${requestsBefore + 1}: ${formatCount(tokensBefore)} → ${formatCount(tokensAfter)} tokens\n${strategy}, ${reasons.join(', ')}, ${formatCount(archived)} messages left the context`,
      tokensBefore,
      tokensAfter,
    })),
    limits: listLimits(limits),
  };
}

/** Maximum number of plots. A page with all plots of a large file would be too large for a browser. */
const MAX_PLOTS = 50;

/** Chooses the largest conversations, in the order of the file. */
function choosePlotted<T>(all: readonly T[], tokensOf: (one: T) => number): { plotted: T[]; skipped: string } {
  const largest = new Set(all.toSorted((one, other) => tokensOf(other) - tokensOf(one)).slice(0, MAX_PLOTS));
  const plotted = all.filter((one) => largest.has(one));
  const skipped = all.length === plotted.length ? '' : ` Plots show the ${plotted.length} largest of them.`;
  return { plotted, skipped };
}

function listLimits({ usable, hardTokens, ratioTokens, tokenThreshold, maxTokens }: Limits): SizeLimit[] {
  const limit = (name: string, tokens: number | undefined, kind: SizeLimit['kind']): SizeLimit[] =>
    tokens === undefined ? [] : [{ name, tokens, kind }];
  return [
    ...limit('usable', usable, 'limit'),
    ...limit('hard limit', hardTokens, 'limit'),
    ...limit('ratio', ratioTokens, 'threshold'),
    ...limit('token threshold', tokenThreshold, 'threshold'),
    ...limit('maxTokens', maxTokens, 'goal'),
  ];
}
