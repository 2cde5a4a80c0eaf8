import type { Redis } from 'ioredis';
import type { ConversationRef } from '../domain/ids.ts';
import type { OpenTurn, OpenTurns } from '../domain/ports/open-turns.ts';
import type { StoredAnswer } from '../domain/ports/turn-answers.ts';
import type { TurnIntake } from '../domain/ports/turn-store.ts';
import { describeDecision, TURN_LIMITS, type TurnState } from '../domain/turn.ts';
import { viewWait } from '../domain/wait-view.ts';
import { decodeForking, type ForkingReply } from './conversation-record.ts';
import { type Keyspace, SCHEMAS, scheduledMember } from './keys.ts';
import { decodeMessage } from './log.ts';
import { bindReadEntry } from './log-pages.ts';
import { callStore, RecordFields } from './records.ts';
import { type ScriptDefinition, type ScriptOf, scriptBinder } from './script.ts';
import { closingArgs, decodeTurnView, encodeCaps, readTextSeq, VIEW_FIELDS } from './turn-record.ts';
import { decodeWaiting, WAIT_FIELDS } from './wait-record.ts';

type AcceptReply =
  | ['accepted' | 'known', TurnState, number]
  | ['conflict']
  | ForkingReply
  | ['other_agent', string]
  | ['full' | 'busy', number]
  | ['not_failed', TurnState | ''];

export const acceptTurnScript: ScriptOf<TurnIntake['accept']> = {
  file: 'accept-turn',
  args: ([request]) => [
    request.turn,
    request.agent,
    request.payloadHash,
    `${request.input.tokens} ${request.input.bytes}\n${JSON.stringify(request.input.message)}`,
    request.wake,
    request.delayMs ?? 0,
    request.maxQueuedTurns,
    SCHEMAS.current,
    request.redriveOf ?? '',
    request.traceParent ?? '',
    request.context ?? '',
    request.onBusy ?? 'enqueue',
    TURN_LIMITS.turnRetentionMs,
    ...closingArgs(),
    encodeCaps(request.caps),
    request.busyTurn ?? '',
  ],
  decode: (reply) => {
    const answer = reply as AcceptReply;
    switch (answer[0]) {
      case 'conflict':
        return { status: 'conflict' };
      case 'forking':
        return decodeForking(answer);
      case 'other_agent':
        return { status: 'other_agent', agent: answer[1] };
      case 'full':
      case 'busy':
        return { status: answer[0], queued: answer[1] };
      case 'not_failed':
        return { status: 'not_failed', ...(answer[1] !== '' && { state: answer[1] }) };
      case 'accepted':
      case 'known':
        return { status: answer[0], state: answer[1], needsWake: answer[2] === 1 };
    }
  },
};

type AnswerReply =
  | ['answered', number]
  | ['still_waiting' | 'not_found' | 'gone']
  | ['not_waiting' | 'other_call' | 'unnamed_call', string]
  | ['decided', string, string, string, string]
  | ['other_kind', string, StoredAnswer['for']];

export const answerTurnScript: ScriptOf<TurnIntake['answerTurn']> = {
  file: 'answer-turn',
  args: ([{ turn, wake, answers, request = '' }]) => [
    turn,
    wake,
    request,
    ...[...answers].flatMap(([call, { for: kind, json, unused, verdict, hash = '', by = '' }]) => [
      call,
      kind,
      json,
      `${unused.tokens} ${unused.bytes}\n${unused.json ?? ''}`,
      verdict,
      hash,
      by,
    ]),
  ],
  decode: (reply, [{ wake }]) => {
    const answer = reply as AnswerReply;
    switch (answer[0]) {
      case 'answered':
        return { status: answer[0], ...(answer[1] === 1 && { wake }) };
      case 'not_waiting':
      case 'other_call':
      case 'unnamed_call':
        return { status: answer[0], call: answer[1] };
      case 'decided': {
        const [status, call, at, verdict, by] = answer;
        return { status, call, decision: describeDecision(verdict, Number(at), by) };
      }
      case 'other_kind':
        return { status: answer[0], call: answer[1], for: answer[2] };
      default:
        return { status: answer[0] };
    }
  },
};

export const cancelTurnScript: ScriptOf<TurnIntake['cancel']> = {
  file: 'cancel-turn',
  args: ([, turn, wake]) => [turn, wake, TURN_LIMITS.turnRetentionMs, ...closingArgs()],
  decode: (reply, [, , wake]) => {
    const answer = reply as ['canceled', number] | ['settled', TurnState] | ['not_found'];
    if (answer[0] === 'settled') return { status: 'settled', state: answer[1] };
    if (answer[0] === 'not_found') return { status: 'not_found' };
    return { status: 'canceled', ...(answer[1] === 1 && { wake }) };
  },
};

/** Makes the function that reads a turn and then its answer or its stopped text. A settled turn and its log entry never change. */
export function bindReadTurn(redis: Redis, keyspace: Keyspace): TurnIntake['readTurn'] {
  const readEntry = bindReadEntry(redis, keyspace);
  return async (conversation, turn) => {
    const key = keyspace.turn(conversation, turn);
    const fields = RecordFields.ofValues(key, VIEW_FIELDS, await callStore(() => redis.hmget(key, ...VIEW_FIELDS)));
    if (fields.isEmpty) return undefined;
    const seq = readTextSeq(fields);
    const entry = seq === undefined ? undefined : await readEntry(conversation, seq);
    // The conversation was erased after its turn was read.
    if (seq !== undefined && entry === undefined) return undefined;
    return decodeTurnView(turn, fields, entry?.message.content);
  };
}

/** Reads user messages from the texts of a conversation, where they lie until a worker claims their turns. */
export async function readInputs(
  redis: Redis,
  txt: string,
  turns: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const fields = turns.map((turn) => `i:${turn}`);
  const found = fields.length === 0 ? [] : await callStore(() => redis.hmget(txt, ...fields));
  return new Map(
    turns.flatMap((turn, index) => {
      const text = found[index] ?? undefined;
      if (text === undefined) return [];
      // The first line is the weight of the message.
      const written = text.slice(text.indexOf('\n') + 1);
      return [[turn, decodeMessage({ key: txt, field: `i:${turn}` }, written).content] as const];
    }),
  );
}

/** Maximum scheduled turns that one command reads. */
const PAGE = 1_000;

/**
 * Makes the function that lists unsettled turns. It searches the scheduled turns first. Then a script reads their
 * states and the mailbox at one moment, so a turn that falls due in between is listed once.
 */
export function bindListOpen(redis: Redis, keyspace: Keyspace): TurnIntake['listOpen'] {
  const list = scriptBinder(redis, keyspace)(listOpenScript);
  return async (conversation, limit) => list(conversation, limit, await findScheduled(redis, keyspace, conversation));
}

/**
 * Finds the scheduled turns of a conversation in the shard's set `ready`, page by page: 1 ms at 1,000 entries, 10 ms at
 * 10,000. Walking the conversation's index `ix` would cost as much per turn of seven days. A set of scheduled turns
 * would cost each turn another write.
 */
async function findScheduled(redis: Redis, keyspace: Keyspace, conversation: ConversationRef): Promise<string[]> {
  const ready = keyspace.ready(keyspace.shardOf(conversation));
  // Ids contain no character with a meaning in Redis patterns.
  const prefix = scheduledMember(conversation, '');
  const found = new Map<string, number>();
  let cursor = '0';
  do {
    const [next, page] = await callStore(() => redis.zscan(ready, cursor, 'MATCH', `${prefix}*`, 'COUNT', PAGE));
    for (let at = 0; at + 1 < page.length; at += 2) {
      found.set(page[at]?.slice(prefix.length) ?? '', Number(page[at + 1]));
    }
    cursor = next;
  } while (cursor !== '0');
  // Sorts by due time as a sweep does, and by name for turns that are due in the same millisecond.
  return [...found].toSorted(([a, dueAt], [b, other]) => dueAt - other || (a < b ? -1 : 1)).map(([turn]) => turn);
}

const FIELDS = ['state', 'acceptedAt', 'dueAt', ...WAIT_FIELDS];
const OPEN_STATES = ['scheduled', 'queued', 'running', 'waiting'] as const;

type Row = readonly [turn: string, ...values: (string | null)[]];

type ListOpenReply = [mailbox: number, scheduled: number, at: number, ...rows: Row[]];

/** Script that reads unsettled turns. `candidates` are turns that may be scheduled, by due time. */
const listOpenScript: ScriptDefinition<
  [conversation: ConversationRef, limit: number, candidates: readonly string[]],
  OpenTurns | undefined
> = {
  file: 'list-open',
  args: ([, limit, candidates]) => [limit, ...candidates],
  decode: (reply, [conversation], keyspace) => {
    if ((reply as ListOpenReply | []).length === 0) return undefined;
    const [mailbox, scheduled, at, ...rows] = reply as ListOpenReply;
    return {
      turns: rows.map(([turn, ...values]) => decodeOpenTurn(turn, keyspace.turn(conversation, turn), values)),
      mailbox,
      scheduled,
      at,
    };
  },
};

function decodeOpenTurn(turn: string, key: string, values: readonly (string | null)[]): OpenTurn {
  const fields = RecordFields.ofValues(key, FIELDS, values);
  const { state, waiting } = viewWait(fields.oneOf('state', OPEN_STATES), decodeWaiting(fields));
  return {
    turn,
    state,
    acceptedAt: fields.needCount('acceptedAt'),
    ...(state === 'scheduled' && { dueAt: fields.needCount('dueAt') }),
    ...(waiting && { waiting }),
  };
}
