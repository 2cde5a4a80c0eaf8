import type { ConversationRef } from '../ids.ts';
import type { LogEntry } from '../message.ts';
import type { TurnState } from '../turn.ts';
import type { Lost, TurnLease } from './turn-store.ts';

/**
 * Limits of a turn's stream of pieces. When a limit is exceeded, the oldest pieces are removed. Readers then take the
 * step from the log.
 */
export const STREAM_LIMITS = {
  /** Number of batches that are always kept. Up to a hundred older ones may remain, because Redis trims roughly. */
  batches: 10_000,
  /** Bytes of pieces. Beyond this limit, the older half is removed. The text of any model answer fits in. */
  bytes: 2_097_152,
  /**
   * ms for which the pieces of a settled turn are kept (5 minutes). A browser that lost its connection comes back within
   * that time. The log holds everything but reasoning and compactions, so later readers need no pieces.
   */
  keptMs: 300_000,
} as const;

/**
 * Something that a model has written. `at` counts the UTF-16 characters of the same kind before it in the model call. A
 * reader thereby notices a piece that comes twice and a piece that is missing.
 */
export type Piece =
  | { readonly kind: 'text' | 'reasoning'; readonly at: number; readonly text: string }
  /** The model begins a tool call. `call` is its index within the answer, from 0. */
  | { readonly kind: 'call'; readonly call: number; readonly name: string }
  | { readonly kind: 'arguments'; readonly call: number; readonly at: number; readonly text: string };

/** Identifies one call of a model. A later call for the same step has a larger epoch, or a larger attempt. */
export interface ModelCallKey {
  /** Number that the message will have in the log. */
  readonly seq: number;
  /** Number of the model step within its turn, from 1. */
  readonly step: number;
  /** Epoch of the worker that runs the call. */
  readonly epoch: number;
  /** Number of the call within the epoch, from 1. */
  readonly attempt: number;
}

/** Pieces of one model call, written together. */
export interface PieceBatch extends ModelCallKey {
  readonly pieces: readonly Piece[];
  /** Tokens of the text among the pieces. Absent if a canceled turn keeps no text. Readers do not get this number. */
  readonly textTokens?: number;
}

/** A context version that was committed while the turn was open. Sizes are in tokens. */
export interface StreamedCompaction {
  readonly version: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** Number of messages that left the context. */
  readonly archived: number;
  /** Number of the last log entry at the commit. */
  readonly head: number;
}

export type AppendedPieces = { readonly status: 'appended' | 'not_followed' } | Lost;

/**
 * Writes the pieces of turns that a client follows. Pieces are a convenience of readers: the log is the truth, and a
 * reader completes each step from the log (invariant I18).
 */
export interface StreamWriter {
  /** True once a reader has asked for the pieces of this turn. */
  isFollowed(conversation: ConversationRef, turn: string): Promise<boolean>;
  /** Writes pieces of a followed turn, unless the lease was lost. A repeated call may write the pieces twice. */
  appendPieces(lease: TurnLease, batch: PieceBatch): Promise<AppendedPieces>;
}

export interface StreamQuery {
  readonly conversation: ConversationRef;
  readonly turn: string;
  /** Id of the last stream entry that the reader has, `0-0` for the start. */
  readonly after: string;
  /** Number of the last log entry that the reader has. */
  readonly afterSeq: number;
}

export type StreamEntry = { readonly id: string } & (
  | { readonly batch: PieceBatch }
  | { readonly compaction: StreamedCompaction }
);

/** Everything that a turn has done since a position, read at one moment. */
export interface StreamPage {
  readonly state: TurnState;
  /** Start of the wait, if the turn waits. All waits of a step at the gate of its model are one. */
  readonly waitingSince?: number;
  /** The first turn of the mailbox and the start of its wait, if that turn waits and this one is queued behind it. */
  readonly behind?: { readonly turn: string; readonly since: number };
  /** Number of the last entry in the conversation's log. */
  readonly head: number;
  /** The larger one of `afterSeq` and the number of the turn's user message. */
  readonly start: number;
  /** Messages behind `start` that the turn appended to the log, and those of turns that steered it. */
  readonly log: readonly LogEntry[];
  readonly entries: readonly StreamEntry[];
  /** Id of the last stream entry that was read, also if that entry is not in `entries`. */
  readonly position: string;
  /** True if further log entries exist that this page leaves out. */
  readonly hasMoreLog: boolean;
  /** True if further stream entries may exist that this page leaves out. */
  readonly hasMoreEntries: boolean;
}

/** Reads the streams of turns, for clients. */
export interface StreamReader {
  /** Asks workers to write the pieces of an unsettled turn from now on. */
  followTurn(conversation: ConversationRef, turn: string): Promise<void>;
  /** @returns undefined if the turn does not exist */
  readStream(query: StreamQuery): Promise<StreamPage | undefined>;
}

/** Notifies a process that a followed turn has new pieces, log entries or another state. A notice may be lost. */
export interface StreamNotices {
  /**
   * Calls `notify` at each notice, and once listening has begun.
   * @returns a function that stops the notices
   */
  listen(conversation: ConversationRef, turn: string, notify: () => void): () => void;
}
