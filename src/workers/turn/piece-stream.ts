import type { EventListener } from '../../domain/events.ts';
import { nameConversation } from '../../domain/ids.ts';
import type { TurnLease } from '../../domain/lease.ts';
import type { ToolCallPiece } from '../../domain/model.ts';
import type { Piece, PieceBatch } from '../../store/stream-entries.ts';
import type { StreamWriter } from '../../store/streams.ts';
import type { Timers } from '../timers.ts';
import { CallPieces } from './call-pieces.ts';

/** ms between two batches of a followed turn. The first batch is sent at once. */
export const FLUSH_MS = 50;
/** Once this many characters are collected, they are sent without a delay. Also the size of the largest batch. */
export const FLUSH_CHARACTERS = 16_384;
/** ms after which a worker asks again whether a client follows the turn, while the model writes. */
export const ASK_MS = 250;
/** ms before a batch that failed is sent again. */
export const RETRY_MS = 1_000;

export interface StreamedTurn {
  readonly streams: StreamWriter;
  readonly timers: Timers;
  readonly lease: TurnLease;
  readonly onEvent: EventListener;
  /**
   * Counts the tokens of a text at a place of a model call, so that a cancel can put the text into the log. Undefined if
   * the agent discards such text.
   */
  readonly countText?: ((text: string, at: number) => Promise<number>) | undefined;
}

/** Numbers of the message that a model call writes. */
export interface StreamedStep {
  /** Number that the message will have in the log. */
  readonly seq: number;
  /** Number of the model step within the turn, from 1. */
  readonly step: number;
}

/**
 * Sends the pieces of models to the stream of one claimed turn, if a client follows the turn. Otherwise sends nothing,
 * and asks at the start and the first piece of each model call, then every 250 ms. The turn never fails with its stream,
 * because readers complete each step from the log (I18).
 */
export class PieceStream {
  readonly #turn: StreamedTurn;
  #isFollowed = false;
  #asking: Promise<void> | undefined;
  #hasReported = false;
  #attempt = 0;

  constructor(turn: StreamedTurn) {
    this.#turn = turn;
  }

  /** Begins to stream one model call. */
  open(step: StreamedStep): CallStream {
    this.#attempt += 1;
    // Asks while the model has not answered yet, so that the first piece need not wait for the reply.
    if (!this.#isFollowed) void this.#ask().catch(() => undefined);
    return new CallStream(this, step, this.#attempt);
  }

  /** False if no client is known to follow the turn, and no reply of Redis about that is on its way. */
  get mayBeFollowed(): boolean {
    return this.#isFollowed || this.#asking !== undefined;
  }

  get timers(): Timers {
    return this.#turn.timers;
  }

  /** Callers that ask at the same time share one question, because another one might wait for the reply to the first. */
  async #ask(): Promise<void> {
    this.#asking ??= this.#askOnce().finally(() => {
      this.#asking = undefined;
    });
    await this.#asking;
  }

  async #askOnce(): Promise<void> {
    const { conversation, turn } = this.#turn.lease;
    if (await this.#turn.streams.isFollowed(conversation, turn)) this.#isFollowed = true;
  }

  async #countText(batch: readonly Piece[]): Promise<Pick<PieceBatch, 'textTokens'>> {
    const { countText } = this.#turn;
    const piece = batch.find(({ kind }) => kind === 'text');
    return countText && piece?.kind === 'text' ? { textTokens: await countText(piece.text, piece.at) } : {};
  }

  /**
   * Sends the next batch.
   * @returns ms until the next batch may be sent, or undefined if the stream has ended for this worker
   */
  async send(pieces: CallPieces, { seq, step }: StreamedStep, attempt: number): Promise<number | undefined> {
    const { streams, lease, onEvent } = this.#turn;
    const { conversation, turn, epoch } = lease;
    try {
      if (!this.#isFollowed) await this.#ask();
      if (!this.#isFollowed) return ASK_MS;
      const batch = pieces.next(FLUSH_CHARACTERS);
      if (batch.length === 0) return FLUSH_MS;
      const counted = await this.#countText(batch);
      const { status } = await streams.appendPieces(lease, { seq, step, epoch, attempt, pieces: batch, ...counted });
      if (status === 'appended') pieces.markSent(batch);
      else this.#isFollowed = false;
      return status === 'appended' ? FLUSH_MS : status === 'not_followed' ? ASK_MS : undefined;
    } catch (error) {
      if (!this.#hasReported)
        onEvent({ type: 'worker_failed', where: 'stream', ...nameConversation(conversation), turn, error });
      this.#hasReported = true;
      return RETRY_MS;
    }
  }
}

/**
 * Streams one model call. At most one batch is in flight, so a slow Redis makes batches larger, not more numerous. At
 * the end of the call, only the rest of the reasoning is sent: the recorded step completes everything else.
 */
export class CallStream {
  readonly #stream: PieceStream;
  readonly #step: StreamedStep;
  readonly #attempt: number;
  readonly #pieces = new CallPieces();
  #pause: { stop(): void } | undefined;
  #sending: Promise<void> | undefined;
  #isEnded = false;
  #mayHurry = false;

  constructor(stream: PieceStream, step: StreamedStep, attempt: number) {
    this.#stream = stream;
    this.#step = step;
    this.#attempt = attempt;
  }

  addText(piece: string): void {
    this.#pieces.addText(piece);
    this.#proceed();
  }

  addReasoning(piece: string): void {
    this.#pieces.addReasoning(piece);
    this.#proceed();
  }

  addCall(piece: ToolCallPiece): void {
    this.#pieces.addCall(piece);
    this.#proceed();
  }

  /**
   * Ends the stream. A model call that ignores its signal may still write, and those pieces are dropped. Resolves once
   * the rest of the reasoning is sent, because the settlement of the turn refuses later pieces, or after 50 ms.
   */
  async end(): Promise<void> {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#pause?.stop();
    const isWanted = this.#pieces.hasUnsentReasoning && this.#stream.mayBeFollowed;
    const sent = this.#sending ?? this.#sendRest();
    if (!isWanted) return;
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = this.#stream.timers.after(FLUSH_MS, resolve);
    await Promise.race([sent, late]);
    timer.stop();
  }

  async #sendRest(): Promise<void> {
    const pieces = this.#pieces;
    let before = Number.POSITIVE_INFINITY;
    while (pieces.hasUnsentReasoning && pieces.unsent < before) {
      before = pieces.unsent;
      await this.#stream.send(pieces, this.#step, this.#attempt);
    }
  }

  #proceed(): void {
    if (this.#isEnded || this.#sending !== undefined || this.#pieces.unsent === 0) return;
    const isFull = this.#mayHurry && this.#pieces.unsent >= FLUSH_CHARACTERS;
    if (this.#pause === undefined || isFull) this.#sending = this.#send();
  }

  async #send(): Promise<void> {
    this.#pause?.stop();
    const pauseMs = await this.#stream.send(this.#pieces, this.#step, this.#attempt);
    this.#sending = undefined;
    if (this.#isEnded || pauseMs === undefined) {
      if (pauseMs === FLUSH_MS) await this.#sendRest();
      this.#isEnded = true;
      return;
    }
    this.#mayHurry = pauseMs === FLUSH_MS;
    this.#pause = this.#stream.timers.after(pauseMs, () => {
      this.#pause = undefined;
      this.#proceed();
    });
    this.#proceed();
  }
}
