import type { ToolCallPiece } from '../../domain/model.ts';
import { isMapping } from '../../domain/parse.ts';
import { completeCalls, mendArguments } from '../../wire/answer-calls.ts';
import { parseObject } from '../../wire/calls.ts';

export interface StreamedCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
  /** Other fields of the call that must be sent back, such as a signature. */
  readonly [field: string]: unknown;
}

interface OpenCall {
  readonly number: number | undefined;
  id: string;
  name: string;
  text: string;
  readonly own: Record<string, unknown>;
}

interface Piece {
  readonly number: number | undefined;
  readonly id: string;
  readonly name: string;
  readonly text: string;
  readonly own: Readonly<Record<string, unknown>>;
}

/**
 * Builds the tool calls of a Chat Completions stream. OpenAI numbers each call, and sends its id and name once.
 * Compatible servers may send no number, or 0 for all calls. They may send no id, or one for all calls. Some send the
 * name in every piece, or whole calls in one chunk.
 */
export class CallBuilder {
  readonly #calls: OpenCall[] = [];

  /** Returns the pieces of a chunk for listeners. */
  add(pieces: readonly unknown[]): ToolCallPiece[] {
    const touched = new Set<OpenCall>();
    return pieces.filter(isMapping).map((given) => {
      const piece = readPiece(given);
      const call = this.#find(piece, touched) ?? this.#start(piece.number);
      touched.add(call);
      Object.assign(call.own, piece.own);
      call.id ||= piece.id;
      // Some servers repeat the whole name in every chunk.
      if (piece.name !== call.name) call.name += piece.name;
      call.text += piece.text;
      return { call: this.#calls.indexOf(call), name: call.name, arguments: piece.text };
    });
  }

  finish(): StreamedCall[] {
    const whole = completeCalls(this.#calls.map(({ id, name, text }) => ({ id, name, arguments: text })));
    return whole.map(({ id, name, arguments: text }, index) => ({
      ...this.#calls[index]?.own,
      id,
      type: 'function',
      function: { name, arguments: text },
    }));
  }

  #find(piece: Piece, touched: ReadonlySet<OpenCall>): OpenCall | undefined {
    const { number, id } = piece;
    const call =
      this.#calls.findLast((open) => (number === undefined ? id !== '' && open.id === id : open.number === number)) ??
      (number === undefined ? this.#calls.at(-1) : undefined);
    return call === undefined || startsOther(piece, call, touched) ? undefined : call;
  }

  #start(number: number | undefined): OpenCall {
    const call: OpenCall = { number, id: '', name: '', text: '', own: {} };
    this.#calls.push(call);
    return call;
  }
}

/**
 * True if a piece with a name starts a new call, although its number or place continues a call. Signs are another id,
 * an earlier piece of that call in the chunk, or complete arguments of that call. Arguments `{}` may be a prefix that a
 * gateway sends.
 */
function startsOther({ name, id, text }: Piece, call: OpenCall, touched: ReadonlySet<OpenCall>): boolean {
  if (name === '') return false;
  if (id !== '' && call.id !== '' && id !== call.id) return true;
  if (touched.has(call)) return true;
  const mayBePrefix = call.text === '{}' && id !== '' && id === call.id;
  return text !== '' && !mayBePrefix && parseObject(call.text) !== undefined;
}

function readPiece({ index, id, type: _, function: called, custom, ...own }: Record<string, unknown>): Piece {
  const fields = isMapping(called) ? called : {};
  const { name, input } = isMapping(custom) ? custom : fields;
  const text = isMapping(custom) ? JSON.stringify({ input: input ?? '' }) : writePiece(fields['arguments']);
  return {
    number: index === undefined || index === null || index === '' ? undefined : Number(index),
    id: typeof id === 'string' ? id : '',
    name: typeof name === 'string' ? name : '',
    text,
    own,
  };
}

/** A string is a piece of arguments. Any other value is all arguments. */
function writePiece(given: unknown): string {
  return typeof given === 'string' ? given : mendArguments(given);
}
