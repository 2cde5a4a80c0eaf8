import { drawBarPlot } from '../../src/cli/reports/bar-plot.ts';
import { plotReplay } from '../../src/cli/reports/file-reports.ts';
import { type Markup, markup } from '../../src/cli/reports/markup.ts';
import { drawTable, figure, placeWide, writePage } from '../../src/cli/reports/report-page.ts';
import { drawSizePlot } from '../../src/cli/reports/size-plot.ts';
import { tabulateAnswers } from './answer-tables.ts';
import { type Measured, meanOfFamilies } from './measure.ts';
import { type BudgetResults, nameBudget, type Results, tabulatePlanted } from './page.ts';
import { type LiveRow, type Table, tabulateFamilies, tabulateQuality } from './tables.ts';

/** Writes the results of a run as a page with plots. The tables are those of the documentation. */
export function writeReport({
  conversations,
  budgets,
  planted,
}: Pick<Results, 'conversations' | 'budgets' | 'planted'>): string {
  return writePage({
    title: 'Context quality',
    about: `After a compaction, the context still holds a share of what the agent uses next. The tables show this share in %, over ${conversations} recorded conversations.`,
    sections: [
      ...budgets.map(drawBudget),
      ...(planted.length === 0 ? [] : [markup`<h2>Planted rules and facts</h2>${draw(tabulatePlanted(planted))}`]),
    ],
  });
}

function drawBudget({ budget, measured, live }: BudgetResults): Markup {
  return markup`<h2>Budget: ${nameBudget(budget)}</h2>${draw(tabulateQuality(measured, live))}${PLOTTED.map((column) => plotRows(measured, column))}${plotLargest(live)}
<h3>Answers by kind of question</h3>${draw(tabulateAnswers(measured))}
<h3>Recall / rare / J / A by family</h3>${draw(tabulateFamilies(measured))}`;
}

interface Column {
  readonly name: string;
  readonly valueOf: (one: Measured) => number | undefined;
}

const PLOTTED: readonly Column[] = [
  { name: 'Recall', valueOf: ({ recall }) => recall },
  { name: 'J', valueOf: ({ selectivity }) => selectivity },
  { name: 'Answerability', valueOf: ({ answers }) => answers },
];

function plotRows(measured: readonly Measured[], { name, valueOf }: Column): Markup {
  const bars = [...Map.groupBy(measured, ({ row }) => row)].map(([row, own]) => {
    const share = meanOfFamilies(own, valueOf);
    return {
      name: row,
      value: Number.isNaN(share) ? undefined : share,
      text: Number.isNaN(share) ? '–' : (100 * share).toFixed(1),
      isOwn: row.startsWith('turnfold'),
    };
  });
  return markup`<h3>${name}</h3>${placeWide(drawBarPlot({ label: `${name} of each row`, bars, max: 1 }))}`;
}

/** Plots the size of the conversation that sends most tokens, with its versions, for each policy of turnfold. */
function plotLargest(live: readonly LiveRow[]): Markup[] {
  const sentBy = ({ figures }: LiveRow): number => figures.played?.replayed.figures.tokensSent ?? 0;
  const rows = Map.groupBy(live, ({ row }) => row);
  return [...rows].flatMap(([row, played]) => {
    const [largest] = played.toSorted((one, other) => sentBy(other) - sentBy(one));
    const { played: found } = largest?.figures ?? {};
    if (found === undefined) return [];
    const plot = drawSizePlot(plotReplay(found.replayed, found.limits));
    return [markup`<h3>Size over the model calls: ${row}</h3>${placeWide(plot)}`];
  });
}

function draw({ header, rows }: Table): Markup {
  return drawTable({
    header,
    rows: rows.map((cells) =>
      cells.map((cell) => (/^-?\d+(?:\.\d+)?$/.test(cell) ? figure(Number(cell), cell) : cell)),
    ),
  });
}
