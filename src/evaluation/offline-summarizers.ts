import { createStructuralSummarizer } from '../models/structural/structural-summarizer.ts';
import type { SummarizerChain } from './offline-pass.ts';
import { RememberedCounts } from './remembered-counts.ts';

/** The chain for every policy that is tried offline: no model is called. */
export async function createOfflineSummarizers(counts = new RememberedCounts()): Promise<SummarizerChain> {
  const counter = await counts.load('o200k_base');
  const structural = createStructuralSummarizer({ countTokens: (text) => counter.count(text) });
  return () => [structural];
}
