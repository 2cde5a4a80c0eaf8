import { cancelable } from '../client/cancelable.ts';
import type { ConversationName, EventOptions, EventOrLoss, StreamOptions, TurnPart } from '../client/index.ts';
import { followEventStream, type ReceivedEvent } from './event-stream.ts';
import { describeCall } from './requests.ts';
import type { Transport } from './transport.ts';

export function streamTurn(
  transport: Transport,
  ...[name, turn, options = {}]: [name: ConversationName, turn: string, options?: StreamOptions]
): AsyncGenerator<TurnPart, void, void> {
  const describe = () => describeCall('stream', [name, turn]).call;
  return cancelable((left) => readParts(followEventStream(transport, { options, describe }, left)));
}

/** A connection that resumes during a wait gets the wait again, also that of a turn before this one. The caller gets it once. */
async function* readParts(events: AsyncIterable<ReceivedEvent>): AsyncGenerator<TurnPart, void, void> {
  let reportedWait = '';
  for await (const { id, data } of events) {
    const part = { ...data, id } as TurnPart;
    if (part.type === 'wait' || part.type === 'behind') {
      const wait = `${part.type === 'behind' ? part.turn : ''} ${part.waiting.since}`;
      if (wait === reportedWait) continue;
      reportedWait = wait;
    }
    yield part;
  }
}

export function followEvents(
  transport: Transport,
  name: ConversationName,
  options: EventOptions = {},
): AsyncGenerator<EventOrLoss, void, void> {
  const describe = () => describeCall('events', [name]).call;
  return cancelable((left) => readEvents(followEventStream(transport, { options, describe }, left)));
}

async function* readEvents(events: AsyncIterable<ReceivedEvent>): AsyncGenerator<EventOrLoss, void, void> {
  for await (const { id, type, data } of events) {
    if (type !== 'end') yield { ...data, ...(id !== undefined && { id }) } as EventOrLoss;
  }
}
