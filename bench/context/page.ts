import { tabulateAnswers, tabulateIntervals } from './answer-tables.ts';
import type { DeepRun } from './depth.ts';
import { tabulateDeep, tabulateDeepKinds, tabulateDepths, tabulateLiveRules } from './depth-tables.ts';
import type { LiveLimits } from './live-context.ts';
import { type Measured, meanOf } from './measure.ts';
import { INTRODUCTION, LIMITS, METHOD, OWN_CONVERSATIONS } from './page-text.ts';
import { FACT_KINDS, IMPLICIT_KINDS } from './planted.ts';
import type { LiveRules } from './planted-live.ts';
import type { KeptFacts } from './planted-run.ts';
import type { RecordedCompaction } from './recorded.ts';
import { findBetter, findBetterKinds, writeShortAnswer } from './short-answer.ts';
import { type LiveRow, OWN_ROW, type Table, tabulateFamilies, tabulateQuality, toMarkdown } from './tables.ts';

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
  /** Conversations that were compacted again and again. */
  readonly deep: { readonly runs: readonly DeepRun[]; readonly rules: readonly LiveRules[] };
  readonly limits: LiveLimits;
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
    writeShortAnswer(results),
    OWN_CONVERSATIONS,
    METHOD,
    ...results.budgets.flatMap(writeBudget),
    ...writeDeep(results),
    writeRecorded(results.recorded),
    writePlanted(results.planted),
    writeLimits(results.conversations),
  ].join('\n\n');
}

function writeBudget(results: BudgetResults): string[] {
  const { budget, measured, live } = results;
  const own = measured.filter(({ row }) => row === OWN_ROW);
  const better = [...findBetter(results), ...findBetterKinds(results)];
  return [
    `## Budget: ${nameBudget(budget)}`,
    toMarkdown(tabulateQuality(measured, live)),
    better.length === 0
      ? 'No other row is better than `turnfold` in a column.'
      : `Others are better than \`turnfold\`:\n\n${better.map((line) => `- ${line}`).join('\n')}`,
    `Answers by kind of question:\n\n${toMarkdown(tabulateAnswers(measured))}`,
    `\`turnfold\` by family, with 95 % intervals:\n\n${toMarkdown(tabulateIntervals(own))}`,
    `Recall / rare / J / A by family:\n\n${toMarkdown(tabulateFamilies(measured))}`,
  ];
}

function writeDeep({ deep, limits }: Results): string[] {
  if (deep.runs.length === 0) return [];
  return [
    '## Compacted again and again',
    `Long conversations are played from start to end. Before each answer, a context above ${limits.tokenThreshold} tokens is compacted to ${limits.maxTokens}. ` +
      'Each pass works on the result of the pass before, and is measured against the whole log.',
    toMarkdown(tabulateDeep(deep.runs)),
    `A pass is *infeasible* if no context of the budget holds what must stay. A fresh summary is *lost* if the pass that wrote it left it out. Both must be 0.`,
    `Answers by kind of question, over all passes:\n\n${toMarkdown(tabulateDeepKinds(deep.runs))}`,
    `Recall by passes since a message last held the needle, over all needles / as a mean of families:\n\n${toMarkdown(tabulateDepths(deep.runs))}`,
    `Rules and prohibitions of the user, planted near the start, that contexts still hold. The columns are passes since the rule was said. A rule counts once for each pass:\n\n${toMarkdown(tabulateLiveRules(deep.rules))}`,
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
    percent(own.map(({ answers }) => answers)),
    percent(own.map(({ anchored }) => anchored)),
    percent(own.map(({ fill }) => fill)),
  ]);
  const sizes = recorded.map(({ tokens }) => tokens).join(' and ');
  return `${title}

Models wrote ${recorded.length} summaries while the conversations were recorded, with ${sizes} tokens. All rows have the budget of that summary.

${toMarkdown({ header: ['row', 'recall', 'J', 'A', 'anchored', 'fill'], rows })}`;
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
