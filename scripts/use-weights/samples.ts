import { createHash } from 'node:crypto';
import { type Family, familyOf } from '../../bench/context/points.ts';
import type { Recording } from '../../bench/context/quality/corpus.ts';
import { findCuts } from '../../bench/context/quality/point.ts';
import { readLedger } from '../../src/compaction/evidence/ledger.ts';
import { measureLedger } from '../../src/compaction/evidence/ledger-measures.ts';
import { PEER_GROUPS, PeerSums, peersOf } from '../../src/compaction/evidence/peers.ts';
import { shapeOf } from '../../src/compaction/evidence/term-shape.ts';
import { FEATURE_NAMES, FEATURES } from '../../src/compaction/evidence/use-features.ts';
import { runToEnd } from '../../src/domain/interruptible.ts';
import type { Message } from '../../src/domain/message.ts';
import { CommonTerms, termsOf } from './common-terms.ts';

/** Files of recordings that the table is fitted to. Recordings of other files are held out. */
export const FITTED_GROUPS: readonly string[] = [
  'chat_aider',
  'coding_forge',
  'coding_miniswe',
  'coding_pi',
  'coding_sweagent',
  'tau2_retail',
  'tau_airline',
];

/** Shares of a recording's characters at which it is cut. */
const SHARES = [0.4, 0.5, 0.65, 0.75];
/** Messages after the cut in which a use counts. */
const HORIZON = 40;
/** A cut with fewer used terms says nothing. */
const MIN_USED = 3;

/** Terms of a source before a cut, with what the agent used of them after it. */
export interface Sample {
  readonly group: string;
  readonly family: Family;
  /** Values of the features, term after term. */
  readonly own: Float64Array;
  /** Means of the features, group of peers after group of peers. */
  readonly peers: Float64Array;
  /** Group of peers, by term. */
  readonly groups: Uint8Array;
  /** 1 for a term that the agent used. */
  readonly used: Uint8Array;
}

export const WIDTH = FEATURE_NAMES.length;

export function readSamples(recordings: readonly Recording[]): Sample[] {
  const common = new CommonTerms(recordings);
  return recordings.flatMap((recording) =>
    findCuts(recording.messages, recording.messages.map(sizeOf), SHARES).flatMap((cut) => {
      const sample = readSample(recording, cut, common);
      return sample.used.filter((used) => used === 1).length < MIN_USED ? [] : [sample];
    }),
  );
}

/** Identifies the recordings of a fit, so that a check can tell another set of recordings from another result. */
export function digestOf(recordings: readonly Recording[]): string {
  const hash = createHash('sha256');
  for (const { group, messages } of recordings) hash.update(JSON.stringify([group, messages]));
  return hash.digest('hex').slice(0, 16);
}

function readSample({ group, messages }: Recording, cut: number, common: CommonTerms): Sample {
  const ledger = runToEnd(readLedger(messages.slice(0, cut).filter(({ role }) => role !== 'system')));
  const measures = runToEnd(measureLedger(ledger));
  const known = findKnown(messages);
  const uses = findUses(messages.slice(cut, cut + HORIZON));
  const kept = [...ledger.terms.keys()].filter((index) => !known.has(ledger.terms[index]?.text ?? ''));
  const own = new Float64Array(kept.length * WIDTH);
  const groups = new Uint8Array(kept.length);
  const used = new Uint8Array(kept.length);
  for (const [row, index] of kept.entries()) {
    const term = ledger.terms[index];
    if (term === undefined) continue;
    const shape = shapeOf(term.text);
    for (const [column, name] of FEATURE_NAMES.entries()) {
      own[row * WIDTH + column] = FEATURES[name]({ term, shape, index, measures });
    }
    groups[row] = peersOf(term, shape);
    used[row] = Number(uses.has(term.text) && !common.has(term.text, group));
  }
  return { group, family: familyOf(group), own, peers: meansOfPeers(own, groups), groups, used };
}

function meansOfPeers(own: Float64Array, groups: Uint8Array): Float64Array {
  const sums = FEATURE_NAMES.map(() => new PeerSums());
  for (const [row, group] of groups.entries()) {
    for (const [column, ofColumn] of sums.entries()) ofColumn.add(group, own[row * WIDTH + column] ?? 0);
  }
  const means = new Float64Array(PEER_GROUPS * WIDTH);
  return means.map((_, at) => {
    const { sum, size } = (sums[at % WIDTH] as PeerSums).of(Math.floor(at / WIDTH));
    return size === 0 ? 0 : sum / size;
  });
}

/** Terms that a context holds anyway: those of the system prompt and the names of tools. */
function findKnown(messages: readonly Message[]): Set<string> {
  const known = new Set(messages.filter(({ role }) => role === 'system').flatMap(termsOf));
  for (const { toolCalls = [] } of messages) for (const { name } of toolCalls) known.add(name);
  return known;
}

/** Terms that the agent uses before any other message brings them again. */
function findUses(messages: readonly Message[]): Set<string> {
  const uses = new Set<string>();
  const brought = new Set<string>();
  for (const message of messages) {
    const terms = termsOf(message);
    if (message.role === 'assistant') for (const term of terms) if (!brought.has(term)) uses.add(term);
    for (const term of terms) brought.add(term);
  }
  return uses;
}

function sizeOf({ role, content, toolCalls = [] }: Message): number {
  if (role === 'system') return 0;
  return toolCalls.reduce((sum, call) => sum + call.name.length + call.arguments.length, content.length);
}
