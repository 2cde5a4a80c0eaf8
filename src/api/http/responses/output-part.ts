/** Kind of an item that a model writes. */
export type Mode = 'reasoning' | 'text';

/** Writes the only part of an item. */
export function writePart(mode: Mode, text: string): object {
  return mode === 'text'
    ? { type: 'output_text', text, annotations: [], logprobs: [] }
    : { type: 'summary_text', text };
}

/** Clients expect this field in events of text. */
export function logprobs(mode: Mode): object {
  return mode === 'text' ? { logprobs: [] } : {};
}
