import type { Limits } from '../../../domain/limits.ts';
import type { Role } from '../../../domain/message.ts';
import type { SeqRange } from '../../../domain/version.ts';
import { drawBarPlot } from '../../reports/bar-plot.ts';
import { type Markup, markup } from '../../reports/markup.ts';
import { drawFacts, drawTable, figure, placeWide, writePage } from '../../reports/report-page.ts';
import { formatCount } from '../../reports/scale.ts';
import { drawSizePlot, type SizeBand } from '../../reports/size-plot.ts';
import { listLimits } from '../size-limits.ts';
import type { PlanLine } from './plan-line.ts';

/** Conversations with a plot. A page with all plots of a large file would be too large for a browser. */
const MAX_PLOTS = 50;

export interface MessageSize {
  readonly role: Role;
  readonly tokens: number;
  /** Tokens of this message and all before it. */
  readonly total: number;
}

export interface PlannedConversation {
  readonly planned: PlanLine;
  readonly sizes: readonly MessageSize[];
}

/** Writes the report of `turnfold plan`: a table of all plans, and a plot of each. */
export function reportPlans(all: readonly PlannedConversation[], limits: Limits): string {
  const largest = all.toSorted((one, other) => other.planned.tokens - one.planned.tokens).slice(0, MAX_PLOTS);
  const plotted = all.filter((conversation) => largest.includes(conversation));
  const skipped = all.length === plotted.length ? '' : ` Plots show the ${plotted.length} largest of them.`;
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

/** Joins sorted positions into ranges. */
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
