import type { EventListener } from '../../domain/events.ts';
import { nameConversation } from '../../domain/ids.ts';
import type { TurnLease } from '../../domain/lease.ts';
import type { ToolCallPiece } from '../../domain/model.ts';
import type { NoteBatch, PieceBatch, StreamPiece } from '../../store/stream-entries.ts';
import type { StreamWriter } from '../../store/streams.ts';
import type { Timers } from '../timers.ts';
import { CallPieces, type TextKind } from './call-pieces.ts';

/** ms between two batches of pieces. The first batch is sent at once. */
export const FLUSH_MS = 50;
/** Characters that are sent without waiting for `FLUSH_MS`. Also the size of the largest batch. */
export const FLUSH_CHARACTERS = 16_384;
export const ASK_MS = 250;
export const RETRY_MS = 1_000;

export interface StreamedTurn {
  readonly streams: Pick<StreamWriter, 'isFollowed' | 'appendPieces'>;
  readonly timers: Timers;
  readonly lease: TurnLease;
  readonly onEvent: EventListener;
  /** Counts tokens of a text, so that a cancel can log the text. Undefined if the agent discards such text. */
  readonly countText?: ((text: string, at: number) => Promise<number>) | undefined;
  /** True if a cancel may log the reasoning in front of such text. */
  readonly keepsReasoning?: boolean;
}

interface StreamedStep {
  /** Seq that the message will have in the log. */
  readonly seq: number;
  readonly step: number;
}

interface UnsentBatch {
  readonly batch: PieceBatch | NoteBatch;
  /** Called once the batch is in the stream. */
  sent(): void;
}

/**
 * Sends the pieces that models write to the stream of one turn, if a client follows the turn. Otherwise asks Redis for
 * a follower at the start and the first piece of each call, then every 250 ms. A failure of the stream never fails the
 * turn, because readers get each complete message from the log (I18).
 */
export class PieceStream {
  readonly timers: Timers;
  readonly #turn: StreamedTurn;
  #isFollowed = false;
  #asking: Promise<boolean> | undefined;
  #hasReported = false;
  #attempt = 0;

  constructor(turn: StreamedTurn) {
    this.#turn = turn;
    this.timers = turn.timers;
  }

  open(step: StreamedStep): CallStream {
    this.#attempt += 1;
    // Asks for a follower before the model answers, so that the first piece need not wait for the reply.
    if (!this.#isFollowed) void this.#ask().catch(() => undefined);
    return new CallStream(this, step, this.#attempt);
  }

  /** False if no client is known to follow the turn, and no question about followers is in flight. */
  get mayBeFollowed(): boolean {
    return this.#isFollowed || this.#asking !== undefined;
  }

  /** Calls at the same time share one question. Separate questions would wait for the reply to the first. */
  async #ask(): Promise<void> {
    const { streams, lease } = this.#turn;
    this.#asking ??= streams.isFollowed(lease.conversation, lease.turn);
    const asking = this.#asking;
    try {
      if (await asking) this.#isFollowed = true;
    } finally {
      if (this.#asking === asking) this.#asking = undefined;
    }
  }

  async #noteForCancel(batch: readonly StreamPiece[]): Promise<Pick<PieceBatch, 'textTokens' | 'keepsReasoning'>> {
    const { countText, keepsReasoning = false } = this.#turn;
    const isKept = keepsReasoning && batch.some(({ kind }) => kind === 'reasoning');
    const piece = batch.find(({ kind }) => kind === 'text');
    const tokens = countText && piece?.kind === 'text' && { textTokens: await countText(piece.text, piece.at) };
    return { ...(isKept && { keepsReasoning }), ...tokens };
  }

  /** @returns ms until the next batch may be sent, or undefined if the stream has ended for this worker */
  async send(pieces: CallPieces, { seq, step }: StreamedStep, attempt: number): Promise<number | undefined> {
    const { epoch } = this.#turn.lease;
    return await this.#append(async () => {
      const batch = pieces.next(FLUSH_CHARACTERS);
      if (batch.length === 0) return undefined;
      const notes = await this.#noteForCancel(batch);
      return { batch: { seq, step, epoch, attempt, pieces: batch, ...notes }, sent: () => pieces.markSent(batch) };
    });
  }

  /** Sends notes of tool calls. @returns ms until the next notes may be sent, or undefined as `send` does */
  async sendNotes(batch: NoteBatch, sent: () => void): Promise<number | undefined> {
    return await this.#append(async () => ({ batch, sent }));
  }

  async #append(next: () => Promise<UnsentBatch | undefined>): Promise<number | undefined> {
    const { streams, lease, onEvent } = this.#turn;
    const { conversation, turn } = lease;
    try {
      if (!this.#isFollowed) await this.#ask();
      if (!this.#isFollowed) return ASK_MS;
      const unsent = await next();
      if (unsent === undefined) return FLUSH_MS;
      const { status } = await streams.appendPieces(lease, unsent.batch);
      if (status === 'appended') unsent.sent();
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

/** Streams one model call. At most one batch is in flight, so a slow Redis makes batches larger, not more numerous. */
class CallStream {
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

  addText(kind: TextKind, piece: string): void {
    this.#pieces.addText(kind, piece);
    this.#proceed();
  }

  addCall(piece: ToolCallPiece): void {
    this.#pieces.addCall(piece);
    this.#proceed();
  }

  /**
   * Drops later pieces, of a call that ignores its signal. Text and calls are not completed, because readers get them
   * from the log. Resolves once the rest of the reasoning is sent, or after 50 ms.
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
