import type { Segment } from '../../../src/domain/version.ts';

const weight = { tokens: 10, bytes: 40 };

export const raw = (from: number, to: number): Segment => ({ kind: 'raw', from, to, weight });
export const evicted = (from: number, to: number): Segment => ({ kind: 'evicted', from, to, weight });
export const masked = (from: number, to: number): Segment => ({ kind: 'masked', from, to, weight });

export const clipped = (from: number, keepChars: number): Segment => ({
  kind: 'clipped',
  from,
  to: from,
  weight,
  keepChars,
});

export const summary = (from: number, to: number, by: number): Segment => ({
  kind: 'summary',
  from,
  to,
  weight,
  version: by,
  summaryKey: `${from}-${to}`,
  depth: 1,
});
