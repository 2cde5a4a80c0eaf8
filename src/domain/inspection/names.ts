/** Parts of a request by their origin, in the order in which they are shown. */
export const CATEGORIES = [
  'system',
  'tools',
  'pins',
  'summaries',
  'user',
  'assistant',
  'reasoning',
  'calls',
  'results',
  'masked',
] as const;

export type Category = (typeof CATEGORIES)[number];

/** Policy settings from which a threshold or a limit in tokens follows. */
export const THRESHOLDS = ['maxTokens', 'tokenThreshold', 'thresholdRatio', 'hardRatio'] as const;

export type ThresholdName = (typeof THRESHOLDS)[number];

/**
 * How a context shows a message of the log.
 * - `live`: as it is in the log.
 * - `archived`: not at all.
 * - `masked`: a placeholder stands for the tool result.
 * - `clipped`: parts of the text are left out.
 * - `summarized`: a summary stands for the message.
 */
export const ENTRY_STATES = ['live', 'archived', 'masked', 'clipped', 'summarized'] as const;

export type EntryState = (typeof ENTRY_STATES)[number];
