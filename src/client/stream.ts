import { parseInput } from '../domain/parse.ts';
import type { TurnView, Waiting } from '../domain/turn.ts';
import { cancelable } from './cancelable.ts';
import { type ConversationName, readConversationName, readTurnId } from './input.ts';
import type { ClientPorts } from './ports.ts';
import { TextAssembler, type TextProgress } from './text-assembler.ts';
import { followSchema, untilSettled } from './turns.ts';

/** Progress of a streamed turn: pieces of text and waits, and finally the result. */
export type TurnProgress =
  | TextProgress
  | {
      /** The turn is suspended. Sent once for each suspension. Further text follows when the turn continues. */
      readonly type: 'waiting';
      /** The calls or the event that the turn waits for, with the deadline. */
      readonly waiting: Waiting;
    }
  | {
      readonly type: 'result';
      /** The settled turn. If `waitMs` has passed first, the turn's current state. */
      readonly view: TurnView;
    };

export interface StreamOptions {
  /** How long to follow the turn, in ms. Absent: until the turn settles. */
  readonly waitMs?: number;
  /** When this signal aborts, the stream throws the signal's reason. */
  readonly signal?: AbortSignal;
}

/**
 * Streams a turn. The final result is read from Redis, as `result` reads it, so lost pieces of text do not affect the
 * result. The Redis subscription lasts from the first to the last read.
 * @throws invalid_input, not_found, the signal's reason
 */
export function streamTurn(
  ports: ClientPorts,
  name: ConversationName,
  turn: string,
  options: StreamOptions = {},
): AsyncGenerator<TurnProgress, void, void> {
  return cancelable((left) => followText(ports, { name, turn, options }, left));
}

interface Followed {
  readonly name: ConversationName;
  readonly turn: string;
  readonly options: StreamOptions;
}

async function* followText(
  ports: ClientPorts,
  { name, turn, options }: Followed,
  left: AbortSignal,
): AsyncGenerator<TurnProgress, void, void> {
  const conversation = readConversationName(name);
  const text = new TextAssembler(readTurnId(turn));
  const { waitMs = Number.POSITIVE_INFINITY, signal } = parseInput(followSchema, options);
  signal?.throwIfAborted();
  const polling = new AbortController();
  let news = Promise.withResolvers<void>();
  const notify = (): void => news.resolve();
  const listening = ports.texts.listen(conversation, (delta) => {
    text.add(delta);
    notify();
  });
  signal?.addEventListener('abort', notify);
  left.addEventListener('abort', notify);
  try {
    let isOver = false;
    const end = (): void => {
      isOver = true;
      notify();
    };
    let waiting: Waiting | undefined;
    let reportedSince: number | undefined;
    const onSnapshot = (view: TurnView): void => {
      if (view.waiting === undefined || view.waiting.since === reportedSince) return;
      reportedSince = view.waiting.since;
      waiting = view.waiting;
      notify();
    };
    const settled = untilSettled(ports, conversation, turn, { waitMs, signal: polling.signal, onSnapshot });
    settled.then(end, end);
    for (;;) {
      await news.promise;
      news = Promise.withResolvers();
      if (left.aborted) return;
      signal?.throwIfAborted();
      if (isOver) break;
      if (waiting !== undefined) {
        const current = waiting;
        waiting = undefined;
        // Text that arrived before a wait is delivered before the wait.
        await listening.catchUp();
        yield* text.take();
        yield { type: 'waiting', waiting: current };
      }
      yield* text.take();
    }
    const view = await settled;
    await listening.catchUp();
    yield* text.take();
    yield { type: 'result', view };
  } finally {
    signal?.removeEventListener('abort', notify);
    listening.stop();
    polling.abort();
  }
}
