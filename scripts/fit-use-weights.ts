/**
 * Fits how likely an agent uses a term of its source again, and writes the table: `node scripts/fit-use-weights.ts [--dry]`.
 * Deterministic: the same recordings give the same table. The score of each family is that of a table fitted on the others.
 */
import { countTokens, FAMILIES, type Family, familyOf, readRecordings } from '../bench/context/points.ts';
import { partsOf } from '../src/domain/evidence/fragments.ts';
import { readLedger } from '../src/domain/evidence/ledger.ts';
import { scanTerms } from '../src/domain/evidence/terms.ts';
import { FEATURE_NAMES, featuresOf } from '../src/domain/evidence/use-probability.ts';
import type { Message } from '../src/domain/message.ts';
import { runToEnd } from '../src/domain/sliced.ts';
import { renderMessage } from '../src/evaluation/quality/searchable-text.ts';

const SHARES = [0.3, 0.5, 0.65, 0.75, 0.85];
const HORIZON = 40;
const L2 = Number(process.env['L2'] ?? 60);

interface Sample {
  readonly family: Family;
  readonly rows: readonly Float64Array[];
  readonly used: Uint8Array;
}

const recordings = readRecordings();

/** Terms of many conversations of the same source. */
const frequencies = new Map<string, { size: number; counts: Map<string, number> }>();
const total = new Map<string, number>();
for (const { group, messages } of recordings) {
  const entry = frequencies.get(group) ?? { size: 0, counts: new Map() };
  frequencies.set(group, entry);
  entry.size += 1;
  for (const term of new Set(messages.flatMap(termsOf))) {
    entry.counts.set(term, (entry.counts.get(term) ?? 0) + 1);
    total.set(term, (total.get(term) ?? 0) + 1);
  }
}
function isCommon(term: string, group: string): boolean {
  const { size, counts } = frequencies.get(group) as { size: number; counts: Map<string, number> };
  if (size >= 7) return (counts.get(term) ?? 0) > Math.max(2, 0.2 * size);
  return (total.get(term) ?? 0) > 0.05 * recordings.length;
}
const isPlainCommon = (term: string): boolean =>
  /^\p{Ll}+$/u.test(term) && !(term.length >= 5 && (total.get(term) ?? 0) <= Math.max(2, 0.02 * recordings.length));

function termsOf(message: Message): string[] {
  const terms: string[] = [];
  for (const { text } of partsOf(message)) scanTerms(text, 0, text.length, (term) => terms.push(term));
  return terms;
}

function cutsOf(messages: readonly Message[]): number[] {
  const sizes = messages.map((m) => (m.role === 'system' ? 0 : countTokens(renderMessage(m))));
  const sum = sizes.reduce((a, b) => a + b, 0);
  const first = messages.findIndex(({ role }) => role !== 'system');
  const cuts = SHARES.map((share) => {
    let cut = first;
    for (let seen = 0; cut < messages.length && seen + (sizes[cut] ?? 0) <= share * sum; cut += 1)
      seen += sizes[cut] ?? 0;
    while (messages[cut]?.role === 'tool') cut += 1;
    return cut;
  });
  return [...new Set(cuts)].filter((cut) => cut - first >= 8 && messages.length - cut >= 5);
}

export function sampleAll(): Sample[] {
  return recordings.flatMap(({ group, messages }) =>
    cutsOf(messages).flatMap((cut) => {
      const source = messages.slice(0, cut).filter(({ role }) => role !== 'system');
      const ledger = runToEnd(readLedger(source));
      const known = new Set(messages.filter(({ role }) => role === 'system').flatMap(termsOf));
      for (const { toolCalls = [] } of messages) for (const { name } of toolCalls) known.add(name);
      const used = new Set<string>();
      const introduced = new Set<string>();
      for (const message of messages.slice(cut, cut + HORIZON)) {
        const terms = termsOf(message);
        if (message.role === 'assistant') for (const term of terms) if (!introduced.has(term)) used.add(term);
        for (const term of terms) introduced.add(term);
      }
      const terms = ledger.terms.filter(({ text }) => !known.has(text));
      const labels = terms.map(({ text }) => Number(used.has(text) && !isCommon(text, group) && !isPlainCommon(text)));
      if (labels.filter(Boolean).length < 3) return [];
      const rows = terms.map((term) => Float64Array.from([1, ...featuresOf(term, ledger)]));
      return [{ family: familyOf(group), rows, used: Uint8Array.from(labels) }];
    }),
  );
}

/** Logistic regression by Newton's method. Each family counts the same, and each point within its family. */
export function fit(samples: readonly Sample[], isActive: (k: number) => boolean = () => true): Float64Array {
  const width = FEATURE_NAMES.length + 1;
  const perFamily = new Map<Family, number>();
  for (const { family } of samples) perFamily.set(family, (perFamily.get(family) ?? 0) + 1);
  const all = samples.reduce((sum, { rows }) => sum + rows.length, 0);
  const weights = new Float64Array(width);
  for (let iteration = 0; iteration < 12; iteration += 1) {
    const gradient = new Float64Array(width);
    const hessian = new Float64Array(width * width);
    for (const { family, rows, used } of samples) {
      const share = (all / perFamily.size / (perFamily.get(family) as number) / rows.length) * 0.05;
      rows.forEach((row, index) => {
        let z = 0;
        for (let k = 0; k < width; k += 1) z += weights[k]! * row[k]!;
        const p = 1 / (1 + Math.exp(-z));
        const error = ((used[index] ?? 0) - p) * share;
        const v = p * (1 - p) * share;
        for (let k = 0; k < width; k += 1) {
          const x = row[k]!;
          if (x === 0) continue;
          gradient[k]! += error * x;
          for (let j = 0; j <= k; j += 1) hessian[k * width + j]! += v * x * row[j]!;
        }
      });
    }
    for (let k = 0; k < width; k += 1) {
      if (k > 0) gradient[k]! -= L2 * weights[k]!;
      hessian[k * width + k]! += (k > 0 ? L2 : 0) + 1e-9;
      if (k > 0 && !isActive(k)) {
        gradient[k] = 0;
        hessian[k * width + k]! += 1e12;
      }
    }
    const step = solve(hessian, gradient, width);
    let largest = 0;
    for (let k = 0; k < width; k += 1) {
      weights[k]! += step[k]!;
      largest = Math.max(largest, Math.abs(step[k]!));
    }
    if (largest < 1e-4) break;
  }
  return weights;
}

/** Solves a symmetric system by Cholesky. `matrix` holds the lower half. */
function solve(matrix: Float64Array, right: Float64Array, n: number): Float64Array {
  for (let i = 0; i < n; i += 1) {
    for (let j = 0; j <= i; j += 1) {
      let sum = matrix[i * n + j]!;
      for (let k = 0; k < j; k += 1) sum -= matrix[i * n + k]! * matrix[j * n + k]!;
      matrix[i * n + j] = i === j ? Math.sqrt(Math.max(sum, 1e-12)) : sum / matrix[j * n + j]!;
    }
  }
  const solution = Float64Array.from(right);
  for (let i = 0; i < n; i += 1) {
    for (let k = 0; k < i; k += 1) solution[i]! -= matrix[i * n + k]! * solution[k]!;
    solution[i]! /= matrix[i * n + i]!;
  }
  for (let i = n - 1; i >= 0; i -= 1) {
    for (let k = i + 1; k < n; k += 1) solution[i]! -= matrix[k * n + i]! * solution[k]!;
    solution[i]! /= matrix[i * n + i]!;
  }
  return solution;
}

/** Probability that a used term ranks above an unused one of the same point. */
export function rankScore(samples: readonly Sample[], weights: Float64Array): number {
  const scores = samples.map(({ rows, used }) => {
    const ranked = rows
      .map((row, index) => ({ z: row.reduce((sum, x, k) => sum + x * weights[k]!, 0), isUsed: used[index] === 1 }))
      .toSorted((a, b) => a.z - b.z);
    const positives = ranked.filter(({ isUsed }) => isUsed).length;
    const ranks = ranked.reduce((sum, { isUsed }, index) => sum + (isUsed ? index + 1 : 0), 0);
    return (ranks - (positives * (positives + 1)) / 2) / positives / (ranked.length - positives);
  });
  return scores.reduce((a, b) => a + b, 0) / scores.length;
}

if (process.argv[1]?.endsWith('fit-use-weights.ts')) {
  const { writeFileSync } = await import('node:fs');
  const t0 = performance.now();
  const samples = sampleAll();
  console.log(
    'samples',
    samples.length,
    'terms',
    samples.reduce((s, x) => s + x.rows.length, 0),
    Math.round(performance.now() - t0),
  );
  const only = process.env['ONLY']?.split(',');
  const active = (k: number): boolean => only === undefined || only.includes(FEATURE_NAMES[k - 1] as string);
  const weights = fit(samples, active);
  console.log(
    FEATURE_NAMES.map((name, k) => `${name} ${weights[k + 1]!.toFixed(2)}`).join('  '),
    'bias',
    weights[0]!.toFixed(2),
  );
  for (const family of FAMILIES) {
    const own = samples.filter((s) => s.family === family);
    const others = fit(
      samples.filter((s) => s.family !== family),
      active,
    );
    console.log(family, 'all', rankScore(own, weights).toFixed(3), 'held out', rankScore(own, others).toFixed(3));
    if (process.env['OUT'])
      writeFileSync(
        `${process.env['OUT']}-${family}.json`,
        JSON.stringify({
          bias: others[0],
          features: Object.fromEntries(FEATURE_NAMES.map((n, k) => [n, others[k + 1]])),
        }),
      );
  }
  if (process.env['OUT'])
    writeFileSync(
      `${process.env['OUT']}-all.json`,
      JSON.stringify({
        bias: weights[0],
        features: Object.fromEntries(FEATURE_NAMES.map((n, k) => [n, weights[k + 1]])),
      }),
    );
  console.log(Math.round(performance.now() - t0), 'ms');
}
