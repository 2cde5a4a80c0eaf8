import type { Message } from '../../domain/message.ts';
import type { ModelCallKey, Piece } from '../../store/stream-entries.ts';
import type { KnownMessage } from './delivered-message.ts';

/** The message that a model is writing, put together from its pieces. */
export class LiveMessage implements KnownMessage {
  readonly key: ModelCallKey;
  text = '';
  reasoning = '';
  readonly calls: { name: string; arguments: string }[] = [];
  /** True if a piece is missing. Everything behind the gap comes from the log, once the step is recorded. */
  hasGap = false;

  constructor(key: ModelCallKey) {
    this.key = key;
  }

  get call(): string {
    return `${this.key.epoch}.${this.key.attempt}`;
  }

  /** True if a recorded message continues these pieces. Pieces of a failed model call may differ from it. */
  isStartOf({ content, toolCalls = [] }: Pick<Message, 'content' | 'toolCalls'>): boolean {
    const continues = ({ name, arguments: written }: KnownMessage['calls'][number], index: number): boolean =>
      toolCalls[index]?.name === name && toolCalls[index].arguments.startsWith(written);
    return content.startsWith(this.text) && this.calls.every(continues);
  }

  add(piece: Piece): void {
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

  /** Returns the new characters of a piece. A worker sends a piece again if the reply of Redis was lost. */
  #findNew(known: string, { at, text }: { readonly at: number; readonly text: string }): string {
    if (at <= known.length) return text.slice(known.length - at);
    this.hasGap = true;
    return '';
  }
}

/** True if the first model call began before the second one. */
export function isEarlierCall(first: ModelCallKey, second: ModelCallKey): boolean {
  return first.epoch < second.epoch || (first.epoch === second.epoch && first.attempt < second.attempt);
}
