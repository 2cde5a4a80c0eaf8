import type { StreamPage, StreamQuery, StreamReader } from '../../store/streams.ts';

/**
 * Maximum number of reads in flight. 1,000 readers that come at once would otherwise ask for 1,000 pages of up to some MB.
 * The last ones would exceed the timeout of a command, and repeat their reads.
 */
const MAX_READS = 50;

/**
 * Lets readers of one turn share their reads of Redis. A notice wakes all readers of a turn at once, and readers that
 * are up to date ask for the same page. 1,000 readers of one turn then cost one read a notice instead of 1,000.
 *
 * A read is sent in the next turn of the event loop, and only calls before that moment share it. A call never gets a
 * page that was read before the call.
 */
export function shareReads(streams: StreamReader): StreamReader {
  const waiting = new Map<string, Promise<StreamPage | undefined>>();
  const places = new Places(MAX_READS);
  return {
    followTurn: (conversation, turn) => streams.followTurn(conversation, turn),
    readStream(query) {
      const name = nameQuery(query);
      const known = waiting.get(name);
      if (known !== undefined) return known;
      const read = nextTurn().then(() =>
        places.run(() => {
          waiting.delete(name);
          return streams.readStream(query);
        }),
      );
      waiting.set(name, read);
      return read;
    },
  };
}

function nameQuery({ conversation, turn, after, afterSeq }: StreamQuery): string {
  return [conversation.tenant, conversation.id, turn, after, afterSeq].join(' ');
}

async function nextTurn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

/** Runs a limited number of calls at a time, in the order of their arrival. */
class Places {
  #free: number;
  readonly #queue: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  async run<Result>(call: () => Promise<Result>): Promise<Result> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#queue.push(resolve));
    try {
      return await call();
    } finally {
      const next = this.#queue.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}
