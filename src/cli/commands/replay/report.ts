import type { Limits } from '../../../domain/limits.ts';
import { type Markup, type MarkupValue, markup } from '../../reports/markup.ts';
import { drawTable, figure, placeWide, writePage } from '../../reports/report-page.ts';
import { formatCount } from '../../reports/scale.ts';
import { drawSizePlot, type SizePlot } from '../../reports/size-plot.ts';
import { listLimits } from '../size-limits.ts';
import { listFigures, MEANINGS, type ReplayedConversation, sumFigures, type TriedPolicy } from './summary.ts';

/** Conversations with a plot. A page with all plots of a large file would be too large for a browser. */
const MAX_PLOTS = 50;

/** Writes the report of a replay: a table for each policy, and a plot for each conversation under each policy. */
export function reportReplay(policies: readonly TriedPolicy[]): string {
  const [first] = policies;
  const all = first?.replayed ?? [];
  const largest = all.toSorted((one, other) => other.figures.tokensSent - one.figures.tokensSent).slice(0, MAX_PLOTS);
  const plotted = all.filter((conversation) => largest.includes(conversation));
  const skipped = all.length === plotted.length ? '' : ` Plots show the ${plotted.length} largest of them.`;
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

/** The plot of one replayed conversation: tokens in each request, and its versions. */
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
