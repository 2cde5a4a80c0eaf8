import { readFrames } from '../api/http-client/event-frames.ts';
import { ChatError } from './chat-error.ts';
import type { ChatCall, ChatRequests } from './chat-requests.ts';
import { listenForWakeUps } from './wake-ups.ts';

export interface SteadyStream {
  /** The request behind a position. Undefined: from the start. */
  readonly callAfter: (position: string | undefined) => ChatCall;
  /** Position of the page before the first request. */
  readonly after?: string | undefined;
  readonly signal: AbortSignal;
}

export const NOTHING_OPEN = Symbol('no answer is open');

/**
 * Reads a stream of events across lost connections. The frames up to a position come together, once the position is known.
 * So a cut between them repeats nothing: the next request continues behind the last position.
 * @yields the data of frames, and first `NOTHING_OPEN` if the server has no stream
 * @throws ChatError if the server refuses, the signal's reason
 */
export async function* readSteadily(
  requests: ChatRequests,
  { callAfter, after, signal }: SteadyStream,
): AsyncGenerator<readonly string[] | typeof NOTHING_OPEN, void, void> {
  const outage = requests.openOutage();
  let position = after;
  try {
    for (;;) {
      const connection = new Connection(signal, requests.silentMs);
      const call = { ...callAfter(position), signal: connection.signal };
      let defect: ChatError | undefined;
      try {
        const opened = await requests.attempt(call, async (response) => response);
        if (opened.status === 'lost') defect = opened.defect;
        else if (opened.value.status === 204) return yield NOTHING_OPEN;
        else {
          for await (const block of readBlocks(opened.value, connection)) {
            outage.end();
            position = block.position;
            if (block.data.length > 0) yield block.data;
            if (block.isLast) return;
          }
        }
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof ChatError) throw error;
      } finally {
        connection.close();
      }
      await outage.wait(defect, signal);
    }
  } finally {
    outage.end();
  }
}

interface Block {
  readonly data: readonly string[];
  readonly position: string | undefined;
  readonly isLast: boolean;
}

const DONE = '[DONE]';

async function* readBlocks({ body }: Response, connection: Connection): AsyncGenerator<Block, void, void> {
  if (body === null) return;
  let data: string[] = [];
  for await (const frame of readFrames(body)) {
    connection.hear();
    if (frame.data === DONE) return yield { data, position: undefined, isLast: true };
    if (frame.data !== undefined) data.push(frame.data);
    if (frame.id === undefined) continue;
    yield { data, position: frame.id, isLast: false };
    data = [];
  }
}

/** Ends a connection from which nothing comes any more. */
class Connection {
  readonly #cut = new AbortController();
  readonly #stop: () => void;
  readonly #silentMs: number;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #heardAt = performance.now();
  readonly signal: AbortSignal;

  constructor(left: AbortSignal, silentMs: number) {
    this.#silentMs = silentMs;
    this.signal = AbortSignal.any([left, this.#cut.signal]);
    this.#stop = listenForWakeUps((wakeUp) => {
      // Timers of a page in the background stand still.
      if (wakeUp === 'restored' || performance.now() - this.#heardAt >= silentMs) this.#cut.abort();
    });
    this.hear();
  }

  hear(): void {
    this.#heardAt = performance.now();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#cut.abort(), this.#silentMs);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#stop();
    this.#cut.abort();
  }
}
