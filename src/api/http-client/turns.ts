import { z } from 'zod';
import { idSchema } from '../../domain/ids.ts';
import { parseInput } from '../../domain/parse.ts';
import { encodeBytes } from '../../domain/parts.ts';
import { isSettled } from '../../domain/turn.ts';
import { cancelable } from '../client/cancelable.ts';
import { followSchema } from '../client/follow-options.ts';
import type {
  ConversationName,
  EnqueuedTurn,
  EnqueueInput,
  FailedInput,
  FailedTurn,
  OpenTurns,
  OpenTurnsInput,
  RedriveInput,
  ResultOptions,
  StreamOptions,
  TurnPart,
  TurnState,
  TurnSteps,
  TurnView,
  WaitingInput,
  WaitingPage,
} from '../client/index.ts';
import { type AnswerArguments, readTurnId } from '../client/input.ts';
import { followEventStream, type ReceivedEvent } from './event-stream.ts';
import { addTenant, callOf, newId, readCalled, readFields, writeBody } from './requests.ts';
import { pause } from './retries.ts';
import { CutWait, type HttpAnswer, type HttpCall, type Transport } from './transport.ts';

/** Longest time that one request waits for a result, in ms. Proxies often end a request after 30 or 60 s. */
const LONGEST_WAIT_MS = 20_000;
/** Shortest time that one request waits after requests were cut, in ms. */
const SHORTEST_WAIT_MS = 1_000;
/** Pause before the next request if a server that stops answered early, in ms. */
const EARLY_PAUSE_MS = 100;

const enqueueSchema = z.looseObject({
  conversation: idSchema,
  tenant: idSchema.optional(),
  turn: idSchema.optional(),
});

export async function enqueueTurn(transport: Transport, input: EnqueueInput): Promise<EnqueuedTurn> {
  const { conversation, tenant, turn: named, ...given } = parseInput(enqueueSchema, input);
  const rest = encodeParts(given);
  const turn = named ?? newId();
  const answer = await transport.send<NamedTurn>({
    ...callOf({ conversation, tenant }, 'POST', 'turns'),
    body: writeBody({ ...rest, turn }),
    write: { field: 'turn', id: turn },
  });
  // A generated turn id is known only to this call. So if the server knows the turn, an earlier attempt stored it.
  return { ...readAccepted(answer), ...(named === undefined && { isNew: true }) };
}

/** Encodes the bytes in the parts of a turn, which JSON does not have. */
export function encodeParts<Input extends Readonly<Record<string, unknown>>>(input: Input): Input {
  const { parts } = input;
  return Array.isArray(parts) ? { ...input, parts: parts.map(encodeBytes) } : input;
}

interface NamedTurn {
  readonly conversation: string;
  readonly turn: string;
}

function readAccepted({ body, tenant, headers }: HttpAnswer<NamedTurn>): EnqueuedTurn {
  return {
    tenant,
    conversation: body.conversation,
    turn: body.turn,
    state: headers.get('turnfold-turn-state') as TurnState,
    isNew: headers.get('idempotency-replayed') !== 'true',
  };
}

export async function readResult(
  transport: Transport,
  name: ConversationName,
  turn: string,
  options: ResultOptions = {},
): Promise<TurnView> {
  const called = readCalled(name);
  const { waitMs = 0, signal } = parseInput(followSchema, options);
  const call = { ...callOf(called, 'GET', 'turns', readTurnId(turn)), signal };
  if (waitMs === 0) return (await transport.send<TurnView>(call)).body;
  const path = [...call.path, 'result'];
  return await askUntil(waitMs, signal, async (askedMs) => {
    const { body } = await transport.send<TurnView>({ ...call, path, query: { waitMs: askedMs }, waitMs: askedMs });
    return { answer: body, isFinal: isSettled(body.state) };
  });
}

export async function readSteps(transport: Transport, name: ConversationName, turn: string): Promise<TurnSteps> {
  const call = callOf(readCalled(name), 'GET', 'turns', readTurnId(turn), 'steps');
  return (await transport.send<TurnSteps>(call)).body;
}

/**
 * Repeats a request that waits, because one request waits for at most `LONGEST_WAIT_MS`. After a cut, a request that does not wait
 * shows that the server is there. Without an answer to it, the call fails after its deadline. The next request then waits
 * half as long as the cut one lasted, and each later one twice as long as the one before. So a proxy that ends quiet connections
 * early delays no result, and a single cut costs few requests.
 */
export async function askUntil<Answer>(
  waitMs: number,
  signal: AbortSignal | undefined,
  ask: (askedMs: number) => Promise<{ readonly answer: Answer; readonly isFinal: boolean }>,
): Promise<Answer> {
  const until = performance.now() + waitMs;
  let longestMs = LONGEST_WAIT_MS;
  let wasCut = false;
  for (;;) {
    signal?.throwIfAborted();
    const askedAt = performance.now();
    const askedMs = wasCut ? 0 : Math.min(Math.max(0, Math.ceil(until - askedAt)), longestMs);
    try {
      const { answer, isFinal } = await ask(askedMs);
      const now = performance.now();
      if (isFinal || now >= until) return answer;
      if (now - askedAt < askedMs / 2) await pause(EARLY_PAUSE_MS, signal);
      else if (!wasCut) longestMs = Math.min(2 * longestMs, LONGEST_WAIT_MS);
      wasCut = false;
    } catch (error) {
      if (!(error instanceof CutWait)) throw error;
      longestMs = Math.max(SHORTEST_WAIT_MS, Math.floor(Math.min(longestMs, error.lastedMs) / 2));
      wasCut = true;
    }
  }
}

export function streamTurn(
  transport: Transport,
  name: ConversationName,
  turn: string,
  options: StreamOptions = {},
): AsyncGenerator<TurnPart, void, void> {
  const describe = (): HttpCall => callOf(readCalled(name), 'GET', 'turns', readTurnId(turn), 'events');
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

export async function cancelTurn(transport: Transport, name: ConversationName, turn: string): Promise<TurnState> {
  const { body } = await transport.send<{ state: TurnState }>({
    ...callOf(readCalled(name), 'POST', 'turns', readTurnId(turn), 'cancel'),
    write: { field: 'turn', id: turn },
  });
  return body.state;
}

export async function answerTurn(
  transport: Transport,
  ...[name, turn, answers, options = {}]: AnswerArguments
): Promise<'answered' | 'still_waiting'> {
  const { body } = await transport.send<{ status: 'answered' | 'still_waiting' }>({
    ...callOf(readCalled(name), 'POST', 'turns', readTurnId(turn), 'answers'),
    body: writeBody({ ...readFields(options), answers }),
    write: { field: 'turn', id: turn },
  });
  return body.status;
}

export async function redriveTurn(
  transport: Transport,
  name: ConversationName,
  turn: string,
  input: RedriveInput = {},
): Promise<EnqueuedTurn> {
  const answer = await transport.send<NamedTurn>({
    ...callOf(readCalled(name), 'POST', 'turns', readTurnId(turn), 'redrive'),
    body: writeBody(readFields(input)),
    write: { field: 'turn', id: turn },
  });
  return readAccepted(answer);
}

export async function listOpenTurns(
  transport: Transport,
  name: ConversationName,
  input: OpenTurnsInput = {},
): Promise<OpenTurns> {
  const called = readCalled(name);
  const { body } = await transport.send<OpenTurns>({ ...callOf(called, 'GET', 'turns'), query: readFields(input) });
  return body;
}

export async function listWaiting(transport: Transport, input: WaitingInput = {}): Promise<WaitingPage> {
  const { tenant: named, ...query } = readFields(input);
  const call = { method: 'GET', path: ['waiting'], query, tenant: named } as const;
  const { body, tenant } = await transport.send<WaitingPage>(call);
  return { ...body, turns: body.turns.map((turn) => addTenant(turn, tenant)) };
}

export async function listFailedTurns(transport: Transport, input: FailedInput = {}): Promise<FailedTurn[]> {
  const { tenant: named, ...query } = readFields(input);
  const call = { method: 'GET', path: ['failed-turns'], query, tenant: named } as const;
  const { body, tenant } = await transport.send<{ turns: FailedTurn[] }>(call);
  return body.turns.map((turn) => addTenant(turn, tenant));
}
