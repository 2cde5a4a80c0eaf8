import { z } from 'zod';
import { fieldError, isTurnfoldError, type TurnfoldError } from '../../domain/errors.ts';
import { type ConversationRef, idSchema, seqOfCallId } from '../../domain/ids.ts';
import type { Message } from '../../domain/message.ts';
import { parseInput } from '../../domain/parse.ts';
import { ANSWER_KINDS, isSettled, type StepRecord, TURN_LIMITS } from '../../domain/turn.ts';
import { writeTurnContext } from '../../domain/turn-context.ts';
import type { WaitingPosition } from '../../store/listings.ts';
import type { OpenTurns } from '../../store/open-turns.ts';
import type { RecordedSteps } from '../../store/turns.ts';
import type { Methods } from '../contract/client.ts';
import { redriveSchema } from '../contract/enqueue.ts';
import { cancelOptionsSchema, followSchema, readConversationName, readTurnId } from '../contract/names.ts';
import type { TurnStep } from '../contract/turn-steps.ts';
import { failedSchema, openTurnsSchema, waitingInputSchema } from '../contract/turns.ts';
import { checkDurability, noConversation, noTurn, notFailed } from './client-errors.ts';
import { acceptTurn } from './enqueue.ts';
import { hashPayload, operationConflict } from './payload-hash.ts';
import type { ClientPorts } from './ports.ts';

export const turnMethods = {
  /** @throws invalid_input, not_found, the signal's reason */
  result: async (ports, name, turn, options = {}) => {
    const conversation = readConversationName(name);
    readTurnId(turn);
    const { waitMs = 0, signal } = parseInput(followSchema, options);
    const until = ports.now() + waitMs;
    for (;;) {
      signal?.throwIfAborted();
      const view = await ports.turns.readTurn(conversation, turn);
      if (view === undefined) throw noTurn(conversation, turn);
      const leftMs = until - ports.now();
      if (isSettled(view.state) || leftMs <= 0) return view;
      await ports.notifications.wait(conversation, Math.min(leftMs, POLL_MS), signal);
    }
  },
  steps: async (ports, name, turn) => {
    const conversation = readConversationName(name);
    const [view, recorded] = await Promise.all([
      ports.turns.readTurn(conversation, readTurnId(turn)),
      ports.turns.readSteps(conversation, turn),
    ]);
    if (view === undefined || recorded === undefined) throw noTurn(conversation, turn);
    const { inputSeq } = view;
    const range = inputSeq !== undefined && { from: inputSeq, to: inputSeq };
    const [input] = range ? await ports.contexts.readLog(conversation, [range]) : [];
    return {
      ...(input !== undefined && { begunAt: input.at }),
      steps: orderSteps(recorded.steps, input?.at),
      ...(recorded.claim !== undefined && { claim: recorded.claim }),
    };
  },
  /** @throws invalid_input, not_found, accepted_unsure, conflict if `replacedBy` is given and the turn has begun or ended */
  cancel: async (ports, name, turn, options = {}) => {
    const conversation = readConversationName(name);
    const { replacedBy } = parseInput(cancelOptionsSchema, options);
    const result = await ports.turns.cancel(conversation, readTurnId(turn), ports.ids.next(), replacedBy);
    if (result.status === 'not_found') throw noTurn(conversation, turn);
    if (result.status === 'begun' || (result.status === 'settled' && replacedBy !== undefined)) {
      const why = result.status === 'begun' ? 'has begun' : `is ${result.state}`;
      throw fieldError('conflict', 'replacedBy', `${turn} ${why}, and only a turn that has not begun is replaced`);
    }
    if (result.status === 'canceled' && result.wake !== undefined) {
      await ports.wakes.wake('turn', conversation, result.wake);
    }
    checkDurability(result, { field: 'turn', id: turn });
    return result.status === 'settled' ? result.state : 'canceled';
  },
  openTurns: async (ports, name, input = {}) => {
    const conversation = readConversationName(name);
    const { limit, inputs: needsInputs = false } = parseInput(openTurnsSchema, input);
    const open = await ports.turns.listOpen(conversation, limit);
    if (open === undefined) throw noConversation(conversation);
    if (!needsInputs) return open;
    const inputs = await readInputs(ports, conversation, open);
    return {
      ...open,
      turns: open.turns.map((turn) => {
        const { content, parts } = inputs.get(turn.turn) ?? {};
        return content === undefined ? turn : { ...turn, input: content, ...(parts && { inputParts: parts }) };
      }),
    };
  },
  waiting: async (ports, input = {}) => {
    const { after, ...query } = parseInput(waitingInputSchema, input);
    const position = after === undefined ? undefined : readWaitingCursor(after);
    const { items, next } = await ports.listings.listWaiting({ ...query, after: position });
    if (next === undefined) return { turns: items };
    const { tenant, id } = next.conversation;
    return { turns: items, next: [tenant, next.for, id, next.turn].join('/') };
  },
  failedTurns: async (ports, input = {}) => {
    const { since = 0, ...query } = parseInput(failedSchema, input);
    return await ports.turns.listFailed({ since, ...query });
  },
  /** @throws not_found, turn_not_failed, gone if the input was erased, and the errors of enqueueTurn */
  redrive: async (ports, name, turn, input = {}) => {
    const conversation = readConversationName(name);
    const { operation, priority, context: contextInput } = parseInput(redriveSchema, input);
    const context = contextInput === undefined ? undefined : writeTurnContext(contextInput);
    const failed = await ports.turns.readTurn(conversation, readTurnId(turn));
    if (failed === undefined) throw noTurn(conversation, turn);
    const { state, agent, inputSeq: seq } = failed;
    // The script checks the state again. Every failed turn has started, so the log has its input.
    if (state !== 'failed' || seq === undefined) throw notFailed(turn, state);
    const [entry] = await ports.contexts.readLog(conversation, [{ from: seq, to: seq }]);
    if (entry === undefined)
      throw fieldError('gone', 'turn', `the input of turn ${turn} was erased, so it cannot be enqueued again`);
    const { message, tokens, bytes } = entry;
    const accepting = acceptTurn(ports, {
      conversation,
      turn: `redrive-${hashPayload(operation === undefined ? { turn } : { operation })}`,
      agent,
      input: { message, tokens, bytes },
      payloadHash: hashPayload([agent, message.content, turn, { context, priority }]),
      context,
      metadata: failed.metadata,
      maxQueuedTurns: TURN_LIMITS.maxQueuedTurns,
      redriveOf: turn,
      priority,
    });
    return await accepting.catch((error: unknown) => {
      throw isTurnfoldError(error, 'turn_conflict') ? redriveConflict(turn, operation) : error;
    });
  },
} satisfies Methods<ClientPorts>;

/** The caller named no id of the new turn, so the error must not ask for another one. */
function redriveConflict(turn: string, operation: string | undefined): TurnfoldError {
  if (operation !== undefined) return operationConflict(operation);
  const why = `${turn} was re-driven before with another context or priority. Send an operation id to re-drive it again`;
  return fieldError('operation_conflict', 'operation', why);
}

/** A caller that waits also polls, because a notification may be lost. */
export const POLL_MS = 1_000;

const MODEL = 'model-';
const TOOL = 'tool-';

function orderSteps(records: RecordedSteps['steps'], begunAt: number | undefined): TurnStep[] {
  const all = [...records];
  const under = (prefix: string) =>
    all.flatMap(([key, record]) => (key.startsWith(prefix) ? [{ id: key.slice(prefix.length), record }] : []));
  const calls = under(TOOL);
  const models = under(MODEL).toSorted((one, other) => Number(one.id) - Number(other.id));
  const steps: TurnStep[] = [];
  let before = begunAt;
  for (const { id: number, record } of models) {
    const step = Number(number);
    steps.push(describeStep({ step }, record, before));
    before = record.at;
    const made = calls.filter(({ id }) => makes(record, id)).toSorted((one, other) => one.record.at - other.record.at);
    for (const { id, record: result } of made) {
      steps.push(describeStep({ step, call: id }, result, record.at));
      before = Math.max(before, result.at);
    }
  }
  return steps;
}

function makes(model: StepRecord, call: string): boolean {
  if (model.status === 'started' || model.seqs === undefined) return false;
  const seq = seqOfCallId(call);
  return seq >= model.seqs.from && seq <= model.seqs.to;
}

function describeStep(name: Pick<TurnStep, 'step' | 'call'>, record: StepRecord, before: number | undefined): TurnStep {
  const { status, at } = record;
  if (status === 'started') return { ...name, status, at };
  return {
    ...name,
    status,
    at,
    ...(before !== undefined && { tookMs: Math.max(0, at - before) }),
    ...record.seqs,
  };
}

const waitingCursor = z.tuple([idSchema, z.enum(ANSWER_KINDS), idSchema, idSchema]);

function readWaitingCursor(after: string): WaitingPosition {
  const [tenant, kind, id, turn] = readCursor(waitingCursor, after);
  return { conversation: { tenant, id }, for: kind, turn };
}

export function readCursor<Parts>(schema: z.ZodType<Parts>, after: string): Parts {
  const parts = schema.safeParse(after.split('/'));
  if (parts.success) return parts.data;
  throw fieldError('invalid_input', 'after', 'expected the value `next` that the previous page returned');
}

const INPUT_BATCH = 20;
const INPUT_CHARS = 4_000_000;

async function readInputs(
  ports: ClientPorts,
  conversation: ConversationRef,
  { turns }: OpenTurns,
): Promise<ReadonlyMap<string, Pick<Message, 'content' | 'parts'>>> {
  const unclaimed = turns.flatMap(({ turn, state }) => (state === 'queued' || state === 'scheduled' ? [turn] : []));
  const read = new Map<string, Message>();
  let chars = 0;
  for (let at = 0; at < unclaimed.length && chars < INPUT_CHARS; at += INPUT_BATCH) {
    const batch = await ports.turns.readInputs(conversation, unclaimed.slice(at, at + INPUT_BATCH));
    for (const [turn, message] of batch) {
      read.set(turn, message);
      chars += message.content.length + (message.parts === undefined ? 0 : JSON.stringify(message.parts).length);
    }
  }
  return read;
}
