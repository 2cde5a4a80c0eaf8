import { endsSlice, type Interruptible } from '../../domain/interruptible.ts';
import type { Ledger } from './ledger.ts';
import { measureLedger } from './ledger-measures.ts';
import { PeerSums, peersOf } from './peers.ts';
import { shapeOf } from './term-shape.ts';
import { FEATURE_NAMES, FEATURES, type UseWeights } from './use-features.ts';
import { USE_WEIGHTS } from './use-weights.ts';

/** Each group of peers gets this many extra terms with the mean of all terms, so that a lone term can be compared. */
const PRIOR_PEERS = 5;
/**
 * Share of the peers' mean that is subtracted. With the whole mean, a context misses more of the names that the agent
 * uses: docs/explanation/evidence.md.
 */
const PEERS_SHARE = 0.5;

/**
 * Values each term, from −1 to 1, by how much more likely than its peers the agent uses it next. 500,000 terms take
 * about half a second.
 */
export function* valueTerms(ledger: Ledger, weights: UseWeights = USE_WEIGHTS): Interruptible<Float64Array> {
  const { probabilities, groups } = yield* estimateUse(ledger, weights);
  const peers = new PeerSums();
  let sum = 0;
  for (let index = 0; index < probabilities.length; index += 1) {
    const probability = probabilities[index] as number;
    peers.add(groups[index] as number, probability);
    sum += probability;
  }
  yield;
  const mean = sum / Math.max(1, probabilities.length);
  const expected = peers.each((ofPeers, size) => (ofPeers + PRIOR_PEERS * mean) / (size + PRIOR_PEERS));
  return probabilities.map(
    (probability, index) => probability - PEERS_SHARE * (expected[groups[index] as number] as number),
  );
}

interface UseEstimate {
  readonly probabilities: Float64Array;
  readonly groups: Uint8Array;
}

function* estimateUse(ledger: Ledger, { bias, features }: UseWeights): Interruptible<UseEstimate> {
  const measures = yield* measureLedger(ledger);
  const scores = new Float64Array(ledger.terms.length);
  const groups = new Uint8Array(ledger.terms.length);
  const peers = new PeerSums();
  const weighed = FEATURE_NAMES.map((name) => ({ read: FEATURES[name], ...features[name] }));
  for (const [index, term] of ledger.terms.entries()) {
    const shape = shapeOf(term.text);
    const seen = { term, shape, index, measures };
    let ofPeers = 0;
    let own = bias;
    for (const feature of weighed) {
      const value = feature.read(seen);
      own += feature.own * value;
      ofPeers += feature.peers * value;
    }
    const group = peersOf(term, shape);
    groups[index] = group;
    scores[index] = own;
    peers.add(group, ofPeers);
    if (endsSlice(index)) yield;
  }
  const means = peers.each((sum, size) => sum / size);
  const probabilities = scores.map(
    (own, index) => 1 / (1 + Math.exp(-own - (means[groups[index] as number] as number))),
  );
  return { probabilities, groups };
}
