/**
 * Compares both measures with the reference harness, point by point: `node bench/context/agree.ts [folder]`.
 * The harness is read-only beside the project and needs its tokenizer: copy its folder, run `npm i` there, and pass the
 * copy. Exits with 1 if the cuts or needles differ, or if the mean of a column differs by more than one point of 100.
 */
import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { BASELINES } from './baselines.ts';
import { LADDERS } from './ladder-rows.ts';
import { type Measured, measureContext } from './measure.ts';
import { type BenchPoint, type BenchRecording, findPoints, readRecordings } from './points.ts';
import { ANSWER_KINDS, type AnswerKind, type Grade } from './quality/answers/topic.ts';
import type { Recording } from './quality/corpus.ts';
import { type Row, renderContext } from './row.ts';

interface ReferenceNeedles {
  readonly list: readonly { readonly a: string }[];
}

type ReferenceScore = Readonly<Record<string, number | null | undefined>>;

/** Functions of the reference harness (`lib.mjs` and `answer.mjs`) that this command calls. */
interface Reference {
  points(conversation: Recording): number[];
  dfTables(conversations: readonly Recording[]): unknown;
  needles(conversation: Recording, cut: number, frequencies: unknown): ReferenceNeedles;
  prepare(needles: ReferenceNeedles, conversation: Recording, cut: number, frequencies: unknown): void;
  score(context: string, needles: ReferenceNeedles): ReferenceScore;
  questions(conversation: Recording, cut: number): unknown;
  ask(questions: unknown, context: string): ReferenceScore;
}

/** Share of the source's tokens that the compared contexts may have. */
const BUDGET = 0.2;
const MAX_DIFFERENCE = 0.01;
const MIN_NEEDLES = 5;
/** The ladder's contexts have forms of calls and values that no baseline has. */
const ROWS: readonly Row[] = [...BASELINES, ...LADDERS.filter(({ name }) => name === 'turnfold')];

type ValueOf<From> = (from: From) => number | null | undefined;
type Column = readonly [name: string, ours: ValueOf<Measured>, theirs: ValueOf<ReferenceScore>];

const COLUMNS: readonly Column[] = [
  ['recall', ({ recall }) => recall, ({ recall }) => recall],
  ['rare', ({ rare }) => rare, ({ rare }) => rare],
  ['far', ({ far }) => far, ({ far }) => far],
  ['inArguments', ({ inArguments }) => inArguments, ({ arg }) => arg],
  [
    'selectivity',
    ({ selectivity }) => selectivity,
    ({ ident, ctrl }) => (typeof ident === 'number' && typeof ctrl === 'number' ? ident - ctrl : null),
  ],
  ['anchored', ({ anchored }) => anchored, ({ anchored }) => anchored],
  ['userWords', ({ userWords }) => userWords, ({ userKeep }) => userKeep],
  ['density', ({ density }) => density, ({ idDensity }) => idDensity],
  ['invented', ({ invented }) => invented, ({ novel }) => novel],
  ...ANSWER_KINDS.map(
    (kind): Column => [kind, ({ grades }) => shareOf(grades[kind], 'right'), (theirs) => theirs[kind]],
  ),
  ...(
    [
      ['value', 'valueWrong'],
      ['usedValue', 'usedValueWrong'],
      ['test', 'testStale'],
      ['todo', 'todoWrong'],
    ] as const satisfies readonly (readonly [AnswerKind, string])[]
  ).map(([kind, name]): Column => [name, ({ grades }) => shareOf(grades[kind], 'wrong'), (theirs) => theirs[name]]),
];

function shareOf(grade: Grade | undefined, side: 'right' | 'wrong'): number | undefined {
  return grade === undefined ? undefined : grade[side] / grade.asked;
}

const [folder = new URL('../../../shared/quality', import.meta.url).pathname] = process.argv.slice(2);

async function loadReference(): Promise<Reference | undefined> {
  if (!existsSync(`${folder}/lib.mjs`)) return undefined;
  try {
    const parts = ['lib.mjs', 'answer.mjs'].map((file) => import(pathToFileURL(`${folder}/${file}`).href));
    return Object.assign({}, ...(await Promise.all(parts))) as Reference;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new Error(`${folder}: the harness needs its tokenizer. Copy the folder, run npm i there, and pass the copy`, {
      cause: error,
    });
  }
}

interface Compared {
  readonly name: string;
  readonly ours: number | undefined;
  readonly theirs: number | undefined;
}

interface Agreement {
  readonly points: number;
  /** Points, cuts and needles that differ. */
  readonly differing: readonly string[];
  readonly compared: readonly Compared[];
}

async function compareAll(reference: Reference): Promise<Agreement> {
  const recordings = readRecordings();
  const frequencies = reference.dfTables(recordings);
  const compared: Compared[] = [];
  const differing: string[] = [];
  const expected = listPoints(reference, recordings, frequencies);
  let points = 0;
  for (const bench of findPoints(recordings)) {
    points += 1;
    const { recording, cut, needles } = bench.point;
    const name = `${recording.id} ${cut}`;
    if (!expected.delete(name)) differing.push(`${name}: the reference has no such point`);
    const theirs = reference.needles(recording, cut, frequencies);
    reference.prepare(theirs, recording, cut, frequencies);
    const missing = new Set(theirs.list.map(({ a }) => a)).symmetricDifference(
      new Set(needles.map(({ text }) => text)),
    );
    if (missing.size > 0) differing.push(`${name}: needles differ: ${[...missing].slice(0, 5).join(', ')}`);
    const questions = reference.questions(recording, cut);
    const score = (text: string): ReferenceScore => ({
      ...reference.score(text, theirs),
      ...reference.ask(questions, text),
    });
    compared.push(...(await comparePoint(bench, score)));
  }
  for (const name of expected) differing.push(`${name}: found by the reference only`);
  return { points, differing, compared };
}

function listPoints(reference: Reference, recordings: readonly BenchRecording[], frequencies: unknown): Set<string> {
  const hasPoint = (recording: Recording, cut: number): boolean =>
    reference.needles(recording, cut, frequencies).list.length >= MIN_NEEDLES;
  const names = recordings.flatMap((recording) =>
    reference
      .points(recording)
      .filter((cut) => hasPoint(recording, cut))
      .map((cut) => `${recording.id} ${cut}`),
  );
  return new Set(names);
}

async function comparePoint(bench: BenchPoint, score: (text: string) => ReferenceScore): Promise<Compared[]> {
  const compared: Compared[] = [];
  const maxTokens = Math.floor(BUDGET * bench.tokens);
  for (const { name: row, compact } of ROWS) {
    const context = (await compact(bench, maxTokens)) ?? '';
    const own = { row, ms: 0, ...measureContext(bench, context, maxTokens) };
    const other = score(renderContext(context));
    for (const [column, ours, theirs] of COLUMNS)
      compared.push({ name: `${row}: ${column}`, ours: ours(own) ?? undefined, theirs: theirs(other) ?? undefined });
  }
  return compared;
}

function meanOf(values: readonly (number | undefined)[]): number {
  const known = values.filter((value) => value !== undefined);
  return known.reduce((sum, value) => sum + value, 0) / known.length;
}

const reference = await loadReference();
if (reference === undefined) console.log(`skipped: there is no reference harness in ${folder}`);
else {
  const { points, differing, compared } = await compareAll(reference);
  const rows = [...Map.groupBy(compared, ({ name }) => name)].map(([name, all]) => {
    const [ours, theirs] = [meanOf(all.map((one) => one.ours)), meanOf(all.map((one) => one.theirs))];
    return { name, ours, theirs, difference: Math.abs(ours - theirs) };
  });
  const far = rows.filter(({ difference }) => !(difference <= MAX_DIFFERENCE));
  console.log(`${points} points, ${differing.length} with other cuts or needles, ${rows.length} means`);
  for (const text of differing) console.log(text);
  for (const { name, ours, theirs } of far)
    console.log(`${name}: ours ${ours.toFixed(4)}, reference ${theirs.toFixed(4)}`);
  const largest = rows.reduce((most, one) => (one.difference > most.difference ? one : most));
  console.log(`largest difference: ${(100 * largest.difference).toFixed(2)} points of 100, in ${largest.name}`);
  if (differing.length > 0 || far.length > 0) process.exitCode = 1;
}
