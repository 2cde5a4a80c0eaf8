import { describeEstimate, poolValues } from './answer-tables.ts';
import { estimateMean } from './intervals.ts';
import { type Measured, meanOf, meanOfFamilies } from './measure.ts';
import type { BudgetResults, Results } from './page.ts';
import { OWN_ROW, percent, ratesOf, toMarkdown } from './tables.ts';

/** Rows of the first table of the page. */
const ROWS = [
  'window',
  'mask',
  'calls + window',
  'salience + window',
  'LangChain clearToolUses',
  'AI SDK pruneMessages',
  OWN_ROW,
];
/** Budgets of the first table. More would not fit. */
const BUDGETS = 2;

type ValueOf = (one: Measured) => number | undefined;

const COLUMNS: readonly (readonly [name: string, valueOf: ValueOf])[] = [
  ['recall', ({ recall }) => recall],
  ['rare', ({ rare }) => rare],
  ['J', ({ selectivity }) => selectivity],
  ['A', ({ answers }) => answers],
];

/** The page in ten lines and a table. */
export function writeShortAnswer({ conversations, budgets, deep, limits }: Results): string {
  const shown = budgets.slice(0, BUDGETS);
  const header = shown.flatMap(({ budget }) => COLUMNS.map(([name]) => `${shortName(budget)}: ${name}`));
  const rows = ROWS.filter((row) => shown.some(({ measured }) => measured.some((one) => one.row === row))).map(
    (row) => [
      row,
      ...shown.flatMap(({ measured }) => {
        const own = measured.filter((one) => one.row === row);
        return COLUMNS.map(([, valueOf]) => percent(meanOfFamilies(own, valueOf)));
      }),
    ],
  );
  const passes = deep.runs.filter(({ row }) => row === OWN_ROW).flatMap((run) => run.passes);
  const lines = [
    '*Recall*: of 100 names and numbers that the agent uses next, the context still holds this many. *Rare*: those of at most two messages.',
    '*J*: recall minus the share of similar names that are kept in vain. *A*: questions about its own past that the context answers, of 100.',
    ...shown.map(writeOwn),
    ...(passes.length === 0
      ? []
      : [
          `Compacted again and again (${limits.tokenThreshold} to ${limits.maxTokens} tokens), contexts answer ${describeEstimate(estimateMean(passes, ({ answers }) => answers))} of 100 questions.`,
        ]),
    ...shown.map(writeBetter),
    `**The figures hold for these ${conversations} recorded conversations.** Measure your own, as described below.`,
  ];
  return `${lines.map((line) => `- ${line}`).join('\n')}\n\n${toMarkdown({ header: ['row', ...header], rows })}`;
}

function shortName(budget: number): string {
  return budget < 1 ? `${Math.round(100 * budget)} %` : `${budget}`;
}

function writeOwn({ budget, measured }: BudgetResults): string {
  const own = measured.filter(({ row }) => row === OWN_ROW);
  const recall = describeEstimate(estimateMean(own, (one) => one.recall));
  const answers = describeEstimate(estimateMean(own, (one) => one.answers));
  const wrong = percent(poolValues(own).wrongOfStated);
  const place = budget < 1 ? `At ${shortName(budget)} of the tokens` : `At ${budget} tokens`;
  return `${place}, \`${OWN_ROW}\` has recall ${recall} and A ${answers}. Brackets hold 95 % intervals. ${wrong} % of the stated values are wrong.`;
}

function writeBetter(results: BudgetResults): string {
  const place = `at ${shortName(results.budget)}${results.budget < 1 ? '' : ' tokens'}`;
  const better = findBetter(results);
  return better.length === 0
    ? `No other row is better ${place}.`
    : `**Others are better** ${place}, in ${better.join(', ')}.`;
}

/** A row with more broken contexts than this fails, and is not compared. */
const MAX_BROKEN = 0.2;

/** Columns in which another row is better than turnfold, each with the best such row. */
export function findBetter({ measured, live }: BudgetResults): string[] {
  const byRow = Map.groupBy(measured, ({ row }) => row);
  const own = byRow.get(OWN_ROW);
  if (own === undefined) return [];
  const fair = [...byRow].filter(([row, all]) => isFair(row, all));
  const compare = (name: string, valueOf: (row: string, all: readonly Measured[]) => number, unit: Unit): string[] => {
    const ours = valueOf(OWN_ROW, own);
    const rated = fair
      .map(([row, all]) => ({ row, value: valueOf(row, all) }))
      .filter(({ value }) => !Number.isNaN(value));
    const best = rated.toSorted((one, other) => unit.sign * (other.value - one.value))[0];
    if (best === undefined || !(unit.sign * (best.value - ours) > 0) || unit.show(best.value) === unit.show(ours))
      return [];
    return [`${name}: ${best.row} ${unit.show(best.value)} (${OWN_ROW} ${unit.show(ours)})`];
  };
  return [
    ...[...COLUMNS, FAR].flatMap(([name, valueOf]) =>
      compare(name, (_, all) => meanOfFamilies(all, valueOf), { sign: 1, show: percent }),
    ),
    ...compare('wrong of stated', (_, all) => poolValues(all).wrongOfStated, { sign: -1, show: percent }),
    ...compare('billed', (row) => ratesOf(live.filter((one) => one.row === row)).billed, WHOLE),
    ...compare('ms', (_, all) => meanOf(all.map(({ ms }) => ms)), WHOLE),
  ];
}

interface Unit {
  /** -1: less is better. */
  readonly sign: 1 | -1;
  readonly show: (value: number) => string;
}

const WHOLE: Unit = { sign: -1, show: (value) => value.toFixed(0) };
const FAR: readonly [string, ValueOf] = ['far', ({ far }) => far];

/** The oracle knows the future, and other rows of turnfold are settings of its own. */
function isFair(row: string, all: readonly Measured[]): boolean {
  const broken = all.filter((one) => one.broken.length > 0).length;
  return row !== 'oracle' && !row.startsWith(OWN_ROW) && broken <= MAX_BROKEN * all.length;
}
