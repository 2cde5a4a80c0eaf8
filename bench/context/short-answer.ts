import { describeEstimate, poolValues } from './answer-tables.ts';
import { estimateMean } from './intervals.ts';
import { type Measured, meanOf, meanOfFamilies } from './measure.ts';
import type { BudgetResults, Results } from './page.ts';
import { shareRight } from './quality/answers/questions.ts';
import { ANSWER_KINDS } from './quality/answers/topic.ts';
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
    `**The figures hold for the points of these ${conversations} recorded conversations.** Measure your own, as described below.`,
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
    : `**Others are better** ${place}. ${better.join('. ')}.`;
}

/** A row is not compared if more of its contexts are above the budget or break rounds. */
const MAX_BROKEN = 0.2;

/** Columns in which another row is better than turnfold, each with the best such row. */
export function findBetter(results: BudgetResults): string[] {
  const { live } = results;
  const rated = new RatedRows(results);
  return [
    ...[...COLUMNS, FAR].flatMap(([name, valueOf]) =>
      rated.compare(name, (_, all) => meanOfFamilies(all, valueOf), { sign: 1, show: percent }),
    ),
    ...rated.compare('wrong of stated', (_, all) => poolValues(all).wrongOfStated, { sign: -1, show: percent }),
    ...rated.compare('billed', (row) => ratesOf(live.filter((one) => one.row === row)).billed, WHOLE),
    ...rated.compare('ms', (_, all) => meanOf(all.map(({ ms }) => ms)), WHOLE),
  ];
}

/** Kinds of questions that another row answers better than turnfold, each with the best such row. */
export function findBetterKinds(results: BudgetResults): string[] {
  const rated = new RatedRows(results);
  return ANSWER_KINDS.flatMap((kind) => {
    const shareOf: ValueOf = ({ grades }) => (grades[kind] === undefined ? undefined : shareRight(grades[kind]));
    return rated.compare(kind, (_, all) => meanOfFamilies(all, shareOf), { sign: 1, show: percent });
  });
}

/** Rows that can be compared with turnfold. */
class RatedRows {
  readonly #own: readonly Measured[] | undefined;
  readonly #fair: readonly (readonly [row: string, all: readonly Measured[]])[];

  constructor({ measured }: BudgetResults) {
    const byRow = Map.groupBy(measured, ({ row }) => row);
    this.#own = byRow.get(OWN_ROW);
    this.#fair = [...byRow].filter(([row, all]) => isFair(row, all));
  }

  compare(name: string, valueOf: (row: string, all: readonly Measured[]) => number, { sign, show }: Unit): string[] {
    if (this.#own === undefined) return [];
    const ours = valueOf(OWN_ROW, this.#own);
    const values = this.#fair.map(([row, all]) => ({ row, value: valueOf(row, all) }));
    const known = values.filter(({ value }) => !Number.isNaN(value));
    const best = known.toSorted((one, other) => sign * (other.value - one.value))[0];
    if (best === undefined || !(sign * (best.value - ours) > 0) || show(best.value) === show(ours)) return [];
    return [`\`${name}\`: ${best.row} ${show(best.value)} (${OWN_ROW} ${show(ours)})`];
  }
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
  const broken = all.filter((one) => one.broken.includes('budget') || one.broken.includes('rounds')).length;
  return row !== 'oracle' && !row.startsWith(OWN_ROW) && broken <= MAX_BROKEN * all.length;
}
