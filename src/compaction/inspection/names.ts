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

/**
 * How a context shows a message of the log.
 * - `live`: as in the log.
 * - `archived`: not at all.
 * - `masked`: a placeholder stands for the tool result.
 * - `clipped`: parts of the text are left out.
 * - `summarized`: a summary stands for the message.
 */
export const ENTRY_STATES = ['live', 'archived', 'masked', 'clipped', 'summarized'] as const;

export type EntryState = (typeof ENTRY_STATES)[number];
