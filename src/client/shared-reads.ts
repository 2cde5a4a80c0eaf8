import type { StreamPage, StreamQuery, StreamReader } from '../domain/ports/turn-streams.ts';

/**
 * Lets readers of one turn share their reads of Redis. A notice wakes all readers of a turn at once, and readers that
 * are up to date ask for the same page. 1,000 readers of one turn then cost one read a notice instead of 1,000.
 *
 * A read is sent in the next turn of the event loop, and only calls before that moment share it. A call never gets a
 * page that was read before the call.
 */
export function shareReads(streams: StreamReader): StreamReader {
  const waiting = new Map<string, Promise<StreamPage | undefined>>();
  return {
    followTurn: (conversation, turn) => streams.followTurn(conversation, turn),
    readStream(query) {
      const name = nameQuery(query);
      const known = waiting.get(name);
      if (known !== undefined) return known;
      const read = nextTurn().then(() => {
        waiting.delete(name);
        return streams.readStream(query);
      });
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
