import type { BreakdownAnswer } from '../../../src/api/contract/inspection.ts';

type Category = BreakdownAnswer['categories'][number]['name'];
type Threshold = BreakdownAnswer['thresholds'][number]['name'];

/** Words for the parts of a request. */
export const CATEGORY_NAMES: Readonly<Record<Category, string>> = {
  system: 'System prompt',
  tools: 'Tools',
  pins: 'Pins',
  summaries: 'Summaries',
  user: 'User',
  assistant: 'Assistant',
  reasoning: 'Reasoning',
  calls: 'Tool calls',
  results: 'Tool results',
  masked: 'Masked results',
};

/** Words for the effect of a threshold. */
export const THRESHOLD_NAMES: Readonly<Record<Threshold, string>> = {
  maxTokens: 'goal',
  tokenThreshold: 'compacts',
  thresholdRatio: 'compacts',
  hardRatio: 'turns wait',
};
