import { MAX_CALLS, MAX_MESSAGE_BYTES } from '../../domain/message.ts';
import type { ToolCallPiece } from '../../domain/model.ts';
import type { StreamPiece } from '../../store/stream-entries.ts';

export type TextKind = 'reasoning' | 'text';

interface Growing {
  written: string;
  /** Number of characters of `written` that are in the stream. */
  sent: number;
}

interface GrowingCall extends Growing {
  readonly call: number;
  readonly name: string;
  isSent: boolean;
}

/** All pieces of one call. They are kept until the call ends, for late readers and for refused batches. */
export class CallPieces {
  readonly #texts: Readonly<Record<TextKind, Growing>> = {
    reasoning: { written: '', sent: 0 },
    text: { written: '', sent: 0 },
  };
  readonly #calls = new Map<number, GrowingCall>();
  #characters = 0;
  #sent = 0;

  addText(kind: TextKind, piece: string): void {
    this.#grow(this.#texts[kind], piece);
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

  get unsent(): number {
    return this.#characters - this.#sent;
  }

  get hasUnsentReasoning(): boolean {
    const { sent, written } = this.#texts.reasoning;
    return sent < written.length;
  }

  next(most: number): StreamPiece[] {
    const pieces: StreamPiece[] = [];
    let left = most;
    const take = (growing: Growing, make: (text: string, at: number) => StreamPiece): void => {
      const text = cut(growing, left);
      if (text !== '') pieces.push(make(text, growing.sent));
      left -= text.length;
    };
    for (const kind of ['reasoning', 'text'] as const) take(this.#texts[kind], (text, at) => ({ kind, at, text }));
    for (const growing of this.#calls.values()) {
      if (left <= 0) break;
      const { call, name, isSent } = growing;
      if (!isSent) pieces.push({ kind: 'call', call, name });
      take(growing, (text, at) => ({ kind: 'arguments', call, at, text }));
    }
    return pieces;
  }

  markSent(pieces: readonly StreamPiece[]): void {
    for (const piece of pieces) {
      if (piece.kind === 'call') {
        const call = this.#calls.get(piece.call);
        if (call !== undefined) call.isSent = true;
        this.#sent += piece.name.length;
        continue;
      }
      const growing = piece.kind === 'arguments' ? this.#calls.get(piece.call) : this.#texts[piece.kind];
      if (growing !== undefined) growing.sent += piece.text.length;
      this.#sent += piece.text.length;
    }
  }

  #grow(growing: Growing, piece: string): void {
    if (!this.#hasRoom(piece)) return;
    growing.written += piece;
    this.#characters += piece.length;
  }

  /** False above the limit of an answer. Such an answer is refused when it is complete. */
  #hasRoom(piece: string): boolean {
    return this.#characters + piece.length <= MAX_MESSAGE_BYTES;
  }
}

/** The next piece. It never ends within a surrogate pair, because Redis stores UTF-8, which has no half pairs. */
function cut({ written, sent }: Growing, most: number): string {
  const text = written.slice(sent, sent + Math.max(most, 0));
  const last = text.charCodeAt(text.length - 1);
  const isHalf = last >= 0xd8_00 && last <= 0xdb_ff;
  return isHalf ? text.slice(0, -1) : text;
}
