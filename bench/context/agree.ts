/**
 * Compares this measure with the reference harness, point by point: `node bench/context/agree.ts [folder]`.
 * The harness is read-only beside the project and needs its tokenizer: copy its folder, run `npm i` there, and pass the
 * copy. Exits with 1 if the cuts or needles differ, or if the mean of a column differs by more than one point of 100.
 */
import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { BASELINES } from './baselines.ts';
import { findPoints, readRecordings } from './points.ts';
import type { Recording } from './quality/corpus.ts';
import type { QualityScore } from './quality/score.ts';
import { renderContext } from './row.ts';

interface ReferenceNeedles {
  readonly list: readonly { readonly a: string }[];
}

type ReferenceScore = Readonly<Record<string, number | null>>;

/** Functions of the reference harness that this command calls. */
interface Reference {
  points(conversation: Recording): number[];
  dfTables(conversations: readonly Recording[]): unknown;
  needles(conversation: Recording, cut: number, frequencies: unknown): ReferenceNeedles;
  prepare(needles: ReferenceNeedles, conversation: Recording, cut: number, frequencies: unknown): void;
  score(context: string, needles: ReferenceNeedles): ReferenceScore;
}

/** Share of the source's tokens that the compared contexts may have. */
const BUDGET = 0.2;
const MAX_DIFFERENCE = 0.01;
const MIN_NEEDLES = 5;

/** Columns of this measure, each with the reference's value of the same meaning. */
const COLUMNS: readonly (readonly [keyof QualityScore, (score: ReferenceScore) => number | null | undefined])[] = [
  ['recall', ({ recall }) => recall],
  ['rare', ({ rare }) => rare],
  ['far', ({ far }) => far],
  ['inArguments', ({ arg }) => arg],
  ['selectivity', ({ ident, ctrl }) => (typeof ident === 'number' && typeof ctrl === 'number' ? ident - ctrl : null)],
  ['anchored', ({ anchored }) => anchored],
  ['userWords', ({ userKeep }) => userKeep],
  ['density', ({ idDensity }) => idDensity],
  ['invented', ({ novel }) => novel],
];

const [folder = new URL('../../../shared/quality', import.meta.url).pathname] = process.argv.slice(2);

async function loadReference(): Promise<Reference | undefined> {
  if (!existsSync(`${folder}/lib.mjs`)) return undefined;
  try {
    return (await import(pathToFileURL(`${folder}/lib.mjs`).href)) as Reference;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new Error(`${folder}: the harness needs its tokenizer. Copy the folder, run npm i there, and pass the copy`, {
      cause: error,
    });
  }
}

interface Compared {
  readonly row: string;
  readonly column: string;
  readonly ours: number | undefined;
  readonly theirs: number | undefined;
}

async function compareAll(
  reference: Reference,
): Promise<{ points: number; differing: string[]; compared: Compared[] }> {
  const recordings = readRecordings();
  const frequencies = reference.dfTables(recordings);
  const compared: Compared[] = [];
  const differing: string[] = [];
  const expected = new Set(
    recordings.flatMap((recording) =>
      reference
        .points(recording)
        .filter((cut) => reference.needles(recording, cut, frequencies).list.length >= MIN_NEEDLES)
        .map((cut) => `${recording.id} ${cut}`),
    ),
  );
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
    for (const { name: row, compact } of BASELINES) {
      const context = renderContext((await compact(bench, Math.floor(BUDGET * bench.tokens))) ?? '');
      const own = bench.scorer.score(context);
      const other = reference.score(context, theirs);
      for (const [column, valueOf] of COLUMNS) {
        compared.push({ row, column, ours: own[column], theirs: valueOf(other) ?? undefined });
      }
    }
  }
  return {
    points,
    differing: [...differing, ...[...expected].map((name) => `${name}: found by the reference only`)],
    compared,
  };
}

function meanOf(values: readonly (number | undefined)[]): number {
  const known = values.filter((value) => value !== undefined);
  return known.reduce((sum, value) => sum + value, 0) / known.length;
}

const reference = await loadReference();
if (reference === undefined) console.log(`skipped: there is no reference harness in ${folder}`);
else {
  const { points, differing, compared } = await compareAll(reference);
  const rows = [...Map.groupBy(compared, ({ row, column }) => `${row}: ${column}`)].map(([name, all]) => {
    const [ours, theirs] = [meanOf(all.map((one) => one.ours)), meanOf(all.map((one) => one.theirs))];
    return { name, ours, theirs, difference: Math.abs(ours - theirs) };
  });
  const far = rows.filter(({ difference }) => !(difference <= MAX_DIFFERENCE));
  console.log(`${points} points, ${differing.length} with other cuts or needles, ${rows.length} means`);
  for (const text of differing) console.log(text);
  for (const { name, ours, theirs } of far)
    console.log(`${name}: ours ${ours.toFixed(4)}, reference ${theirs.toFixed(4)}`);
  const largest = rows.reduce((most, { difference }) => Math.max(most, difference), 0);
  console.log(`largest difference of two means: ${(100 * largest).toFixed(2)} points of 100`);
  if (differing.length > 0 || far.length > 0) process.exitCode = 1;
}
