import type { ToolData, ToolProgress } from '../domain/tool-notes.ts';
import { pairsOf } from './records.ts';

/**
 * A piece of a model's answer. `at`: number of UTF-16 characters of the same kind before this piece in its call. With
 * `at`, a reader notices a piece that is missing or comes twice.
 */
export type StreamPiece =
  | { readonly kind: 'text' | 'reasoning'; readonly at: number; readonly text: string }
  /** Start of a tool call. `call` is the index of the tool call within the answer, from 0. */
  | { readonly kind: 'call'; readonly call: number; readonly name: string }
  | { readonly kind: 'arguments'; readonly call: number; readonly at: number; readonly text: string };

const LETTERS = { text: 't', reasoning: 'r', call: 'c', arguments: 'a' } as const satisfies Record<
  StreamPiece['kind'],
  string
>;

/** One call of a model. A later call for the same step has a larger epoch or attempt. */
export interface ModelCallKey {
  /** Seq that the answer's message will have. */
  readonly seq: number;
  readonly step: number;
  readonly epoch: number;
  /** Number of the call within the epoch, from 1. */
  readonly attempt: number;
}

export interface PieceBatch extends ModelCallKey {
  readonly pieces: readonly StreamPiece[];
  /** True if the log may keep the reasoning among the pieces. */
  readonly keepsReasoning?: boolean;
  /** Tokens of the text among the pieces. Absent if a canceled turn keeps no text. */
  readonly textTokens?: number;
}

/** Report of a running tool call: its progress, or a value that it emitted. */
export type CallNote = CallProgress | NotedValue;

interface CallProgress {
  readonly call: string;
  readonly progress: ToolProgress;
}

export interface NotedValue {
  readonly call: string;
  readonly data: ToolData;
}

export interface NoteBatch {
  /** Number of the model step that made the calls, from 1. */
  readonly step: number;
  /** Number of calls of that step. */
  readonly calls: number;
  readonly notes: readonly CallNote[];
}

export const NOTES = 'notes';

/** Releases that know no notes skip the entry, because its first name is no key of a model call. */
export function encodeNotes({ step, calls, notes }: NoteBatch): string[] {
  return [NOTES, JSON.stringify({ step, calls, notes })];
}

/** Each note of a batch has at least a call. */
function decodeNotes(text: string): NoteBatch | undefined {
  try {
    const { step, calls, notes } = JSON.parse(text) as Partial<NoteBatch>;
    const isBatch = typeof step === 'number' && typeof calls === 'number' && Array.isArray(notes);
    return isBatch ? { step, calls, notes: notes as NoteBatch['notes'] } : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Encodes a batch as one field for each piece. The name of a field is a letter with numbers: `t<at>`, `r<at>`,
 * `c<call>` or `a<call>.<at>`. The key of the call stands before the first name only, because each further string of an
 * entry makes a replay slower. For `lua/shared/stopped.lua`, `k` says that the log may keep the reasoning, and the token
 * count stands last, under the name `n`.
 */
export function encodeBatch({ seq, step, epoch, attempt, pieces, keepsReasoning, textTokens }: PieceBatch): string[] {
  const fields = pieces.flatMap((piece, index) => {
    const before = index === 0 ? `${seq} ${step} ${epoch} ${attempt} ` : '';
    return [before + namePiece(piece), piece.kind === 'call' ? piece.name : piece.text];
  });
  if (keepsReasoning === true) fields.push('k', '1');
  return textTokens === undefined ? fields : [...fields, 'n', String(textTokens)];
}

function namePiece(piece: StreamPiece): string {
  const letter = LETTERS[piece.kind];
  if (piece.kind === 'call') return `${letter}${piece.call}`;
  return piece.kind === 'arguments' ? `${letter}${piece.call}.${piece.at}` : `${letter}${piece.at}`;
}

export type Entry = readonly [id: string, fields: readonly string[]];

/** A version that was committed while the turn was open. Sizes are in tokens. */
export interface StreamedCompaction {
  readonly version: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly archived: number;
  readonly head: number;
}

export type StreamEntry = { readonly id: string } & (
  | { readonly batch: PieceBatch }
  | { readonly compaction: StreamedCompaction }
  | { readonly noted: NoteBatch }
);

/**
 * Decodes stream entries. Entries that a later release wrote in another form are skipped. Neighboring entries share the
 * key of their call, so the key is decoded once: the replay of a long answer has thousands of entries.
 */
export function decodeEntries(entries: readonly Entry[]): StreamEntry[] {
  let known = '';
  let key: ModelCallKey | undefined;
  const decoded: StreamEntry[] = [];
  for (const [id, fields] of entries) {
    const [first = ''] = fields;
    const end = first.lastIndexOf(' ');
    if (first === 'head') {
      const compaction = decodeCompaction(fields);
      if (compaction !== undefined) decoded.push({ id, compaction });
      continue;
    }
    if (first === NOTES) {
      const noted = decodeNotes(fields[1] ?? '');
      if (noted !== undefined) decoded.push({ id, noted });
      continue;
    }
    if (first.slice(0, end) !== known) {
      known = first.slice(0, end);
      key = decodeCallKey(known);
    }
    if (key !== undefined) decoded.push({ id, batch: { ...key, pieces: decodePieces(fields, end + 1) } });
  }
  return decoded;
}

function decodeCallKey(text: string): ModelCallKey | undefined {
  const numbers = text.split(' ').map(Number);
  const [seq = 0, step = 0, epoch = 0, attempt = 0] = numbers;
  const isKey = numbers.length === 4 && numbers.every((number) => Number.isSafeInteger(number) && number > 0);
  return isKey ? { seq, step, epoch, attempt } : undefined;
}

/** @param from index of the character in `fields[0]` where the name of the first piece begins */
function decodePieces(fields: readonly string[], from: number): StreamPiece[] {
  const pieces: StreamPiece[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const piece = decodePiece(fields[at] ?? '', at === 0 ? from : 0, fields[at + 1] ?? '');
    if (piece !== undefined) pieces.push(piece);
  }
  return pieces;
}

function decodePiece(field: string, from: number, text: string): StreamPiece | undefined {
  const name = field.slice(from + 1);
  if (field[from] === LETTERS.arguments) {
    const [call = -1, at = -1] = name.split('.').map(Number);
    return isIndex(call) && isIndex(at) ? { kind: 'arguments', call, at, text } : undefined;
  }
  const at = Number(name);
  if (name === '' || !isIndex(at)) return undefined;
  switch (field[from]) {
    case LETTERS.text:
      return { kind: 'text', at, text };
    case LETTERS.reasoning:
      return { kind: 'reasoning', at, text };
    case LETTERS.call:
      return { kind: 'call', call: at, name: text };
    default:
      return undefined;
  }
}

function isIndex(number: number): boolean {
  return Number.isSafeInteger(number) && number >= 0;
}

/** Decodes a compaction. A version that a restore or a rollback made does not count as a compaction. */
function decodeCompaction(flat: readonly string[]): StreamedCompaction | undefined {
  const fields = new Map(pairsOf(flat));
  if (fields.get('cause') !== 'pass') return undefined;
  const read = (name: string): number => Number(fields.get(name));
  const compaction = {
    version: read('version'),
    tokensBefore: read('before'),
    tokensAfter: read('after'),
    archived: read('archived'),
    head: read('head'),
  };
  return Object.values(compaction).every(Number.isSafeInteger) ? compaction : undefined;
}
