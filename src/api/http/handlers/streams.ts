import type { z } from 'zod';
import { parseInput } from '../../../domain/parse.ts';
import { eventIdSchema } from '../../client/events.ts';
import type { EventOrLoss, TurnPart } from '../../client/index.ts';
import { positionSchema } from '../../client/stream-position.ts';
import { answerEvents, refuseHead, type ServerSentEvent } from '../event-stream.ts';
import type { Call, Handlers } from '../route.ts';

export const streamHandlers: Handlers = {
  stream: async (call) => {
    const { client, name, param } = call;
    const wait = readWait(call);
    const turn = param('turn');
    const position = readPosition(call, positionSchema);
    // Reports a missing turn as a problem, because the status of a stream is sent before its first event.
    await client.result(name, turn);
    return answer(call, (signal) => eventsOf(client.stream(name, turn, { ...position, ...wait, signal })));
  },
  events: async (call) => {
    const { client, name } = call;
    const wait = readWait(call);
    const { after: given } = readPosition(call, eventIdSchema);
    const last = await findLastEvent(call, given !== undefined);
    return answer(call, async function* follow(signal) {
      // A client that is cut off before the first event continues from here, and misses nothing.
      if (given === undefined) yield { id: last };
      yield* eventsOf(client.events(name, { after: given ?? last, ...wait, signal }));
      if (!signal.aborted) yield { type: 'end', data: { type: 'end' } };
    });
  },
};

/**
 * Finds the position behind the last event, which is at most about the 500th.
 * @param needsOnlyCheck true: the position does not matter
 * @throws not_found if neither the conversation nor an event exists
 */
async function findLastEvent({ client, name }: Call, needsOnlyCheck: boolean): Promise<string> {
  let last = '0';
  for await (const event of client.events(name, { after: last, waitMs: 0 })) {
    if (needsOnlyCheck) break;
    if ('id' in event) last = event.id;
  }
  return last;
}

function readWait({ query: { waitMs: ms } }: Call<{ waitMs?: number | undefined }>): { readonly waitMs?: number } {
  return ms === undefined ? {} : { waitMs: ms };
}

/** Reads the id of the last handled event, which `schema` validates before the stream begins. */
function readPosition(
  { request, query }: Call<{ after?: string | undefined }>,
  schema: z.ZodType,
): { readonly after?: string } {
  const header = request.headers.get('last-event-id');
  const [id, field] = header === null ? [query.after, 'after'] : [header, 'last-event-id'];
  if (id === undefined || id === '') return {};
  parseInput(schema, id, field);
  return { after: id };
}

async function* eventsOf(parts: AsyncIterable<TurnPart | EventOrLoss>): AsyncGenerator<ServerSentEvent> {
  for await (const part of parts) {
    const { id, ...data } = { id: undefined, ...part };
    yield { ...(id !== undefined && { id }), type: part.type, data };
  }
}

function answer(
  { request, cut, readers, streams }: Call,
  follow: (signal: AbortSignal) => AsyncIterable<ServerSentEvent>,
): Response {
  refuseHead(request);
  return answerEvents({ request, cut, readers, limits: streams, follow });
}
