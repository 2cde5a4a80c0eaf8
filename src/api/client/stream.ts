import { findWriteRefusal } from '../../domain/errors.ts';
import type { ConversationRef } from '../../domain/ids.ts';
import { parseInput } from '../../domain/parse.ts';
import { isAnswerKind, isSettled, type TurnView } from '../../domain/turn.ts';
import type { StreamPage } from '../../store/streams.ts';
import type { Methods } from '../contract/client.ts';
import { type ConversationName, followSchema, readConversationName, readTurnId } from '../contract/names.ts';
import type { StreamOptions } from '../contract/streams.ts';
import type { TurnPart } from '../contract/turn-parts.ts';
import { cancelable } from './cancelable.ts';
import { noTurn } from './client-errors.ts';
import { PartAssembler } from './part-assembler.ts';
import type { ClientPorts } from './ports.ts';
import { positionSchema } from './stream-position.ts';
import { POLL_MS } from './turns.ts';

export const streamMethods = {
  /**
   * Reads Redis at each notice and once a second, and only once the caller has taken the last parts.
   * @throws invalid_input, not_found, redis_unavailable, the signal's reason
   */
  stream: (ports, name, turn, options = {}) => {
    return cancelable((left) => followParts(ports, { name, turn, options }, left));
  },
} satisfies Methods<ClientPorts>;

const streamSchema = followSchema.extend({ after: positionSchema.optional() });

interface Followed {
  readonly name: ConversationName;
  readonly turn: string;
  readonly options: StreamOptions;
}

async function* followParts(
  ports: ClientPorts,
  { name, turn: id, options }: Followed,
  left: AbortSignal,
): AsyncGenerator<TurnPart, void, void> {
  const conversation = readConversationName(name);
  const turn = readTurnId(id);
  const { after, waitMs = Number.POSITIVE_INFINITY, signal } = parseInput(streamSchema, options);
  const assembler = new PartAssembler(after);
  const waits = new WaitReports(ports, conversation, turn);
  const until = ports.now() + waitMs;
  signal?.throwIfAborted();
  const news = new News(signal === undefined ? left : AbortSignal.any([signal, left]));
  const stop = ports.streamNotices.listen(conversation, turn, news.announce);
  try {
    await askForPieces(ports, conversation, turn);
    for (;;) {
      news.clear();
      const page = await ports.streams.readStream({ conversation, turn, ...assembler.place });
      if (page === undefined) throw noTurn(conversation, turn);
      const { parts, isBehind } = assembler.read(page);
      for (const part of parts) {
        signal?.throwIfAborted();
        yield part;
      }
      signal?.throwIfAborted();
      if (left.aborted) return;
      if (isBehind) continue;
      yield* waits.reportBlock(page, assembler.id);
      const leftMs = until - ports.now();
      if (isSettled(page.state)) yield* assembler.end();
      if (isSettled(page.state) || leftMs <= 0) {
        yield { type: 'end', id: assembler.id, view: await readView(ports, conversation, turn) };
        return;
      }
      const hasBegun = yield* waits.reportWait(page, assembler.id);
      if (!hasBegun) await news.wait(Math.min(leftMs, POLL_MS));
    }
  } finally {
    stop();
  }
}

/** Asks workers for the pieces of a turn. If a full Redis refuses this write, the reader gets complete messages. */
async function askForPieces(ports: ClientPorts, conversation: ConversationRef, turn: string): Promise<void> {
  try {
    await ports.streams.followTurn(conversation, turn);
  } catch (error) {
    if (findWriteRefusal(error) === undefined) throw error;
  }
}

async function readView({ turns }: ClientPorts, conversation: ConversationRef, turn: string): Promise<TurnView> {
  const view = await turns.readTurn(conversation, turn);
  if (view === undefined) throw noTurn(conversation, turn);
  return view;
}

/** Reports once each wait of a turn, and each wait for answers of the turn in front of it. */
class WaitReports {
  readonly #ports: ClientPorts;
  readonly #conversation: ConversationRef;
  readonly #turn: string;
  #wait: number | undefined;
  #block: StreamPage['behind'];

  constructor(ports: ClientPorts, conversation: ConversationRef, turn: string) {
    this.#ports = ports;
    this.#conversation = conversation;
    this.#turn = turn;
  }

  async *reportBlock({ behind }: StreamPage, id: string): AsyncGenerator<TurnPart, void, void> {
    if (behind === undefined || (behind.turn === this.#block?.turn && behind.since === this.#block.since)) return;
    this.#block = behind;
    const { turn } = behind;
    const { waiting } = (await this.#ports.turns.readTurn(this.#conversation, turn)) ?? {};
    if (waiting !== undefined && isAnswerKind(waiting.for)) yield { type: 'behind', id, turn, waiting };
  }

  /** @returns true if the turn began to wait since the last call */
  async *reportWait({ waitingSince }: StreamPage, id: string): AsyncGenerator<TurnPart, boolean, void> {
    if (waitingSince === undefined || waitingSince === this.#wait) return false;
    this.#wait = waitingSince;
    const { waiting } = await readView(this.#ports, this.#conversation, this.#turn);
    if (waiting !== undefined) yield { type: 'wait', id, waiting };
    return true;
  }
}

/** Remembers a notice that comes between a read and the next wait. */
class News {
  readonly #ended: AbortSignal;
  #isNew = false;
  #wake: () => void = () => undefined;

  constructor(ended: AbortSignal) {
    this.#ended = ended;
  }

  readonly announce = (): void => {
    this.#isNew = true;
    this.#wake();
  };

  clear(): void {
    this.#isNew = false;
  }

  async wait(ms: number): Promise<void> {
    if (this.#isNew || this.#ended.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const timer = setTimeout(resolve, ms);
    this.#ended.addEventListener('abort', this.#wake);
    await promise;
    this.#ended.removeEventListener('abort', this.#wake);
    clearTimeout(timer);
  }
}
