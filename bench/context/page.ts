import { type Bar, drawBars } from './bars.ts';
import { type Measured, meanOf, meanOfFamilies } from './measure.ts';
import { INTRODUCTION, LIMITS, METHOD } from './page-text.ts';
import { FACT_KINDS, IMPLICIT_KINDS } from './planted.ts';
import type { KeptFacts } from './planted-run.ts';
import type { RecordedCompaction } from './recorded.ts';
import { type LiveRow, type Table, tabulateFamilies, tabulateQuality, toMarkdown } from './tables.ts';

/** All results of a run for one budget. */
export interface BudgetResults {
  /** A share of the source if below 1, else tokens. */
  readonly budget: number;
  readonly measured: readonly Measured[];
  readonly live: readonly LiveRow[];
}

export interface Results {
  readonly conversations: number;
  readonly budgets: readonly BudgetResults[];
  readonly recorded: readonly RecordedCompaction[];
  readonly planted: readonly KeptFacts[];
}

export function nameBudget(budget: number): string {
  return budget < 1 ? `${Math.round(100 * budget)} % of the source` : `${budget} tokens`;
}

/** Writes the page of the documentation that shows the results. The same results give the same page. */
export function writePage(results: Results): string {
  return [
    INTRODUCTION,
    METHOD,
    ...results.budgets.flatMap(writeBudget),
    writeRecorded(results.recorded),
    writePlanted(results.planted),
    writeLimits(results.conversations),
  ].join('\n\n');
}

function writeBudget({ budget, measured, live }: BudgetResults): string[] {
  return [
    `## Budget: ${nameBudget(budget)}`,
    toMarkdown(tabulateQuality(measured, live)),
    ...listShares(measured).map(({ name, bars }) => `${name}:\n\n\`\`\`text\n${drawBars(bars)}\n\`\`\``),
    `Recall / rare / J by family:\n\n${toMarkdown(tabulateFamilies(measured))}`,
  ];
}

/** Recall and J of each row, for bars. */
export function listShares(measured: readonly Measured[]): { readonly name: string; readonly bars: readonly Bar[] }[] {
  const byRow = [...Map.groupBy(measured, ({ row }) => row)];
  const barsOf = (valueOf: (one: Measured) => number | undefined): Bar[] =>
    byRow.map(([name, own]) => ({ name, share: meanOfFamilies(own, valueOf) }));
  return [
    { name: 'Recall', bars: barsOf(({ recall }) => recall) },
    { name: 'J', bars: barsOf(({ selectivity }) => selectivity) },
  ];
}

function writeRecorded(recorded: readonly RecordedCompaction[]): string {
  const title = '## Beside recorded summaries';
  if (recorded.length === 0) return `${title}\n\nThe recordings hold no summaries of models.`;
  const byRow = [
    ...Map.groupBy(
      recorded.flatMap(({ measured }) => measured),
      ({ row }) => row,
    ),
  ];
  const percent = (values: readonly (number | undefined)[]): string => {
    const known = values.filter((value) => value !== undefined);
    return known.length === 0 ? '–' : (100 * meanOf(known)).toFixed(1);
  };
  const rows = byRow.map(([row, own]) => [
    row,
    percent(own.map(({ recall }) => recall)),
    percent(own.map(({ selectivity }) => selectivity)),
    percent(own.map(({ anchored }) => anchored)),
    percent(own.map(({ fill }) => fill)),
  ]);
  const sizes = recorded.map(({ tokens }) => tokens).join(' and ');
  return `${title}

Models wrote ${recorded.length} summaries while the conversations were recorded, with ${sizes} tokens. All rows have the budget of that summary.

${toMarkdown({ header: ['row', 'recall', 'J', 'anchored', 'fill'], rows })}`;
}

/** Share of the planted facts that each row keeps, by kind. */
export function tabulatePlanted(planted: readonly KeptFacts[]): Table {
  const rows = [...Map.groupBy(planted, ({ row }) => row)].map(([row, own]) => {
    const shareOf = (facts: readonly KeptFacts[]): string => {
      const all = facts.reduce((sum, fact) => sum + fact.planted, 0);
      return all === 0 ? '–' : ((100 * facts.reduce((sum, fact) => sum + fact.kept, 0)) / all).toFixed(0);
    };
    return [row, shareOf(own), ...FACT_KINDS.map((kind) => shareOf(own.filter((fact) => fact.kind === kind)))];
  });
  return { header: ['row', 'all', ...FACT_KINDS], rows };
}

function writePlanted(planted: readonly KeptFacts[]): string {
  const [first] = planted;
  const count = planted.reduce((sum, fact) => sum + (fact.row === first?.row ? fact.planted : 0), 0);
  return `## Planted rules and facts

The benchmark inserts ${count} rules and facts between 10 % and 60 % of the source of recorded conversations. Each context has 20 % of the tokens. The table shows how many of 100 facts the contexts still hold. The kinds ${IMPLICIT_KINDS.join(' and ')} hold no name or number, so only a reader sees that they matter.

${toMarkdown(tabulatePlanted(planted))}`;
}

function writeLimits(conversations: number): string {
  const recordings = `The run measured ${conversations} recorded conversations.`;
  return `## Limits\n\n${[...LIMITS, recordings].map((limit) => `- ${limit}`).join('\n')}\n`;
}
