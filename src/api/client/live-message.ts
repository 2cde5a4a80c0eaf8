import type { Message } from '../../domain/message.ts';
import type { ModelCallKey, PieceBatch, StreamPiece } from '../../store/stream-entries.ts';
import type { KnownMessage } from './stream-position.ts';

/** Returns the last model call of each message. */
export function findLastCalls(batches: readonly PieceBatch[]): Map<number, ModelCallKey> {
  const last = new Map<number, ModelCallKey>();
  for (const batch of batches) {
    const known = last.get(batch.seq);
    if (known === undefined || isEarlierCall(known, batch)) last.set(batch.seq, batch);
  }
  return last;
}

/** The pieces of the message that the model is writing. */
export class LiveMessage implements KnownMessage {
  readonly key: ModelCallKey;
  text = '';
  reasoning = '';
  readonly calls: { name: string; arguments: string }[] = [];
  /** True if a piece is missing. Everything behind the missing piece comes from the log, once the step is recorded. */
  hasGap = false;

  constructor(key: ModelCallKey) {
    this.key = key;
  }

  get call(): string {
    return `${this.key.epoch}.${this.key.attempt}`;
  }

  /** False if these are pieces of a failed model call, from which the recorded message differs. */
  isStartOf({ content, toolCalls = [], reasoning }: Message): boolean {
    const continues = ({ name, arguments: written }: KnownMessage['calls'][number], index: number): boolean =>
      toolCalls[index]?.name === name && toolCalls[index].arguments.startsWith(written);
    // The log may lack the end of the reasoning.
    const isSame = reasoning === undefined || this.reasoning.startsWith(reasoning.slice(0, this.reasoning.length));
    return isSame && content.startsWith(this.text) && this.calls.every(continues);
  }

  add(piece: StreamPiece): void {
    switch (piece.kind) {
      case 'text':
        this.text += this.#findNew(this.text, piece);
        return;
      case 'reasoning':
        this.reasoning += this.#findNew(this.reasoning, piece);
        return;
      case 'call':
        if (piece.call === this.calls.length) this.calls.push({ name: piece.name, arguments: '' });
        else if (piece.call > this.calls.length) this.hasGap = true;
        return;
      case 'arguments': {
        const call = this.calls[piece.call];
        if (call === undefined) this.hasGap = true;
        else call.arguments += this.#findNew(call.arguments, piece);
      }
    }
  }

  /** Returns the new part of a piece. A worker sends a piece again if the reply of Redis was lost. */
  #findNew(known: string, { at, text }: { readonly at: number; readonly text: string }): string {
    if (at <= known.length) return text.slice(known.length - at);
    this.hasGap = true;
    return '';
  }
}

export function isEarlierCall(first: ModelCallKey, second: ModelCallKey): boolean {
  return first.epoch < second.epoch || (first.epoch === second.epoch && first.attempt < second.attempt);
}
