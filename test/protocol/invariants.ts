import type { TurnLease } from '../../src/domain/lease.ts';
import { isSettled, type TurnState } from '../../src/domain/turn.ts';
import type { Database } from '../../src/store/embedded/database.ts';
import { readyMember, scheduledMember } from '../../src/store/keys.ts';
import type { PassLease } from '../../src/store/pass-record.ts';
import {
  listConversations,
  readConversation,
  readDueTimes,
  type StoredConversation,
} from '../store/stored-conversation.ts';
import type { HeldCall } from './held-calls.ts';
import { textOfDatabase } from './snapshot.ts';

/** The sweeper pushes a `ready` entry out by at most this time, in ms, if the conversation has no owner. */
const LAST_PUSH_MS = 60_000;

const FENCED_BY_EPOCH: ReadonlySet<string> = new Set([
  'startSteps',
  'recordStep',
  'suspend',
  'heartbeat',
  'release',
  'startAlone',
  'reportDeath',
  'takeSteering',
  'undoTurns',
  'settle',
]);
const FENCED_BY_PASS: ReadonlySet<string> = new Set([
  'heartbeatPass',
  'releasePass',
  'recordPlan',
  'parkPass',
  'endPass',
  'commitVersion',
]);

/** Times at which the sweeper inspects entries, by their members. */
type DueTimes = ReadonlyMap<string, number>;

/** A broken invariant of docs/invariants.md. */
class Broken extends Error {
  constructor(invariant: string, what: string) {
    super(`${invariant}: ${what}`);
  }
}

interface Before {
  readonly epoch: number;
  readonly states: ReadonlyMap<string, TurnState>;
  readonly head: string | undefined;
  readonly logged: number;
  /** Invariant that an erase would break now: a turn (I2) or a pass (I6) is in flight. */
  readonly keptBy: 'I2' | 'I6' | undefined;
}

const NOTHING: Before = { epoch: 0, states: new Map(), head: undefined, logged: 0, keptBy: undefined };

/** Runs one call, and compares the state before with the state after. @throws if the call broke an invariant */
export async function watch<T>(db: Database, call: HeldCall, act: () => Promise<T>): Promise<T> {
  const whole = isOutdated(db, call) ? textOfDatabase(db) : undefined;
  const before = new Map(listConversations(db).map((conversation) => [conversation.ref.id, snapshotOf(conversation)]));
  const reply = await act();
  if (whole !== undefined && whole !== textOfDatabase(db)) {
    throw new Broken('I4', `${call.operation} with a lost lease changed the store`);
  }
  const after = new Map(listConversations(db).map((conversation) => [conversation.ref.id, conversation]));
  for (const [id, { keptBy }] of before) {
    if (keptBy === undefined || after.has(id)) continue;
    throw new Broken(keptBy, `${call.operation} removed a ${keptBy === 'I2' ? 'turn' : 'pass'} that is in flight`);
  }
  const due = readDueTimes(db);
  for (const [id, conversation] of after) {
    checkStep(call, { before: before.get(id) ?? NOTHING, conversation, reply });
    checkState(conversation, due, db.now());
  }
  return reply;
}

function snapshotOf({ epoch, mailbox, turnRecords, log, pass }: StoredConversation): Before {
  const states = new Map([...turnRecords].map(([turn, { state }]) => [turn, state]));
  const hasTurn = [...states.values()].some((state) => !isSettled(state));
  const keptBy = hasTurn ? 'I2' : pass && 'I6';
  return { epoch, states, head: mailbox[0], logged: log.length, keptBy };
}

/** True for a write whose lease is no longer valid. */
function isOutdated(db: Database, { room, operation, args }: HeldCall): boolean {
  if (room === 'turns' && FENCED_BY_EPOCH.has(operation)) {
    const lease = args[0] as TurnLease;
    const { epoch, owner, mailbox = [] } = readConversation(db, lease.conversation) ?? {};
    return lease.epoch !== epoch || lease.owner !== owner || lease.turn !== mailbox[0];
  }
  if (room !== 'passes' || !FENCED_BY_PASS.has(operation)) return false;
  const lease = args[0] as PassLease;
  const { pass } = readConversation(db, lease.conversation) ?? {};
  return lease.passId !== pass?.passId || lease.owner !== pass.owner;
}

interface Step {
  readonly before: Before;
  readonly conversation: StoredConversation;
  readonly reply: unknown;
}

function checkStep({ operation }: HeldCall, { before, conversation, reply }: Step): void {
  if (conversation.epoch < before.epoch) throw new Broken('I4', `${operation} lowered the epoch`);
  if (conversation.log.length < before.logged) throw new Broken('I1', 'the log shrank');
  for (const { turn, state, steeredInto = turn } of conversation.turnRecords.values()) {
    const was = before.states.get(turn);
    if (was === undefined || was === state) continue;
    if (isSettled(was)) throw new Broken('I2', `${turn} changed from ${was} to ${state}`);
    if ((state === 'completed' || state === 'failed') && before.head !== steeredInto) {
      throw new Broken('I4', `${turn} was settled as ${state} without being the head`);
    }
    const raises =
      before.head === turn && (state === 'canceled' || (reply as { status?: string } | undefined)?.status === 'poison');
    if (raises && conversation.epoch === before.epoch) throw new Broken('I4', `${state} did not raise the epoch`);
  }
}

/** Checks what must be true after every script. */
function checkState(conversation: StoredConversation, due: DueTimes, now: number): void {
  checkCounts(conversation);
  checkTurns(conversation, due);
  checkAnswers(conversation);
  checkReady(conversation, due, now + LAST_PUSH_MS);
}

function checkCounts({ log, state, versions, events }: StoredConversation): void {
  const { turns } = state;
  const { version } = state.size;
  if (log.some(({ seq }, index) => seq !== index + 1)) throw new Broken('I1', 'seqs are not contiguous');
  if (turns !== log.filter(({ message }) => message.role === 'user').length) throw new Broken('I1', 'turns miscounted');
  let tokens = 0;
  for (const entry of log) {
    tokens += entry.tokens;
    if (entry.total.tokens !== tokens) throw new Broken('I1', `the total at ${entry.seq} is not the sum`);
  }
  const made = log.flatMap(({ message }) => (message.toolCalls ?? []).map(({ id }) => id));
  const answered = log.flatMap(({ message }) => (message.toolCallId === undefined ? [] : [message.toolCallId]));
  if (new Set(answered).size !== answered.length) throw new Broken('I5', 'a call was answered twice');
  const open = made.filter((id) => !answered.includes(id)).join();
  const recorded = state.openCalls.map(({ id }) => id).join();
  if (open !== recorded) throw new Broken('I1', `open calls in the log: ${open}, in the record: ${recorded}`);
  if (version !== versions.size)
    throw new Broken('I4', `${versions.size} versions, but the live version is ${version}`);
  const settled = events.filter(({ type }) => type === 'turn_settled').map(({ fields }) => fields['turn']);
  if (new Set(settled).size !== settled.length) throw new Broken('I2', 'a turn was settled twice');
}

function checkTurns({ ref, mailbox, turnRecords, owner }: StoredConversation, due: DueTimes): void {
  if (new Set(mailbox).size !== mailbox.length) throw new Broken('I2', 'a turn is in the mailbox twice');
  for (const { turn, state, steeredInto = turn } of turnRecords.values()) {
    const isIn = mailbox.includes(turn);
    const isScheduled = due.has(scheduledMember(ref, turn));
    if (isIn !== (state === 'queued' || state === 'running' || state === 'waiting')) {
      throw new Broken('I2', `${turn} is ${state} and ${isIn ? '' : 'not '}in the mailbox`);
    }
    if (isScheduled !== (state === 'scheduled')) throw new Broken('I2', `${turn} is ${state} and has a d| entry`);
    if (state === 'running' && mailbox[0] !== steeredInto) throw new Broken('I1', `${turn} runs and is not the head`);
  }
  if (owner !== undefined && mailbox.length === 0) throw new Broken('I1', 'an empty mailbox has an owner');
}

/** A final answer is in the log if and only if its turn is settled. */
function checkAnswers({ log, turnRecords }: StoredConversation): void {
  for (const { turn, state, answerSeq = 0, steeredInto = turn } of turnRecords.values()) {
    const answer = log[answerSeq - 1];
    if (state === 'completed' && (answer?.turn !== steeredInto || answer.message.role !== 'assistant')) {
      throw new Broken('I7', `${turn} is completed, and its answer is not in the log`);
    }
    const last = log.findLast((entry) => entry.turn === turn)?.message;
    if (!isSettled(state) && last?.role === 'assistant' && last.toolCalls === undefined) {
      throw new Broken('I7', `the final answer of ${turn} is in the log, and the turn is ${state}`);
    }
  }
}

/** @param latest time to which a sweep may have put off an entry */
function checkReady(conversation: StoredConversation, times: DueTimes, latest: number): void {
  const { ref, mailbox, pass, leaseUntil = 0, turnRecords } = conversation;
  const due = times.get(readyMember('t', ref));
  if (mailbox.length > 0) {
    if (due === undefined) throw new Broken('I3', 'the mailbox has turns and no t| entry');
    const { waiting } = turnRecords.get(mailbox[0] ?? '') ?? {};
    if (due > Math.max(latest, leaseUntil, waiting?.until ?? 0))
      throw new Broken('I3', 'the t| entry of a mailbox is due too late');
  }
  const passDue = times.get(readyMember('p', ref));
  if (pass === undefined) return;
  if (passDue === undefined) throw new Broken('I6', 'a pass has no p| entry');
  const { leaseUntil: ownedUntil = 0, parkedUntil = 0 } = pass;
  if (passDue > Math.max(latest, ownedUntil, parkedUntil))
    throw new Broken('I6', 'the p| entry of a pass is due too late');
}
