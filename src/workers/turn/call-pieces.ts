import { MAX_CALLS, MAX_MESSAGE_BYTES } from '../../domain/message.ts';
import type { ToolCallPiece } from '../../domain/model.ts';
import type { Piece } from '../../store/stream-entries.ts';

interface Growing {
  /** Everything that the model has written so far. */
  written: string;
  /** Number of characters of `written` that are in the stream. */
  sent: number;
}

interface GrowingCall extends Growing {
  readonly call: number;
  readonly name: string;
  isSent: boolean;
}

/**
 * The pieces that one call of a model has written so far, and how many of their characters are in the stream. The whole
 * text stays in memory until the call ends. So a reader that asks late gets the text from its start, and the worker can
 * send a refused batch again.
 */
export class CallPieces {
  readonly #text: Growing = { written: '', sent: 0 };
  readonly #reasoning: Growing = { written: '', sent: 0 };
  readonly #calls = new Map<number, GrowingCall>();
  #characters = 0;
  #sent = 0;

  addText(piece: string): void {
    this.#grow(this.#text, piece);
  }

  addReasoning(piece: string): void {
    this.#grow(this.#reasoning, piece);
  }

  addCall({ call, name, arguments: text }: ToolCallPiece): void {
    let growing = this.#calls.get(call);
    if (growing === undefined && name !== undefined && name !== '' && this.#hasRoom(name) && call < MAX_CALLS) {
      growing = { call, name, isSent: false, written: '', sent: 0 };
      this.#calls.set(call, growing);
      this.#characters += name.length;
    }
    if (growing !== undefined && text !== undefined) this.#grow(growing, text);
  }

  /** Number of characters that are not in the stream. */
  get unsent(): number {
    return this.#characters - this.#sent;
  }

  /** True if some reasoning is not in the stream. */
  get hasUnsentReasoning(): boolean {
    return this.#reasoning.sent < this.#reasoning.written.length;
  }

  /** Returns the next pieces for the stream, with about `most` characters at most. */
  next(most: number): Piece[] {
    const pieces: Piece[] = [];
    let left = most;
    const take = (growing: Growing, make: (text: string, at: number) => Piece): void => {
      const text = cut(growing, left);
      if (text !== '') pieces.push(make(text, growing.sent));
      left -= text.length;
    };
    take(this.#reasoning, (text, at) => ({ kind: 'reasoning', at, text }));
    take(this.#text, (text, at) => ({ kind: 'text', at, text }));
    for (const growing of this.#calls.values()) {
      if (left <= 0) break;
      const { call, name, isSent } = growing;
      if (!isSent) pieces.push({ kind: 'call', call, name });
      take(growing, (text, at) => ({ kind: 'arguments', call, at, text }));
    }
    return pieces;
  }

  /** Notes that the pieces are in the stream. */
  markSent(pieces: readonly Piece[]): void {
    for (const piece of pieces) {
      if (piece.kind === 'call') {
        const call = this.#calls.get(piece.call);
        if (call !== undefined) call.isSent = true;
        this.#sent += piece.name.length;
        continue;
      }
      const growing = piece.kind === 'arguments' ? this.#calls.get(piece.call) : this.#growing(piece.kind);
      if (growing !== undefined) growing.sent += piece.text.length;
      this.#sent += piece.text.length;
    }
  }

  #growing(kind: 'text' | 'reasoning'): Growing {
    return kind === 'text' ? this.#text : this.#reasoning;
  }

  #grow(growing: Growing, piece: string): void {
    if (!this.#hasRoom(piece)) return;
    growing.written += piece;
    this.#characters += piece.length;
  }

  /** An answer above the limit is refused when it is complete, so no reader needs more of its text. */
  #hasRoom(piece: string): boolean {
    return this.#characters + piece.length <= MAX_MESSAGE_BYTES;
  }
}

/**
 * Returns the next characters to send. Never ends between the two halves of a character, because Redis stores UTF-8, in
 * which a half has no encoding.
 */
function cut({ written, sent }: Growing, most: number): string {
  const text = written.slice(sent, sent + Math.max(most, 0));
  const last = text.charCodeAt(text.length - 1);
  const isHalf = last >= 0xd8_00 && last <= 0xdb_ff;
  return isHalf ? text.slice(0, -1) : text;
}
