import { readJsonAnswer } from '../domain/final-answer.ts';
import { type ConversationRef, nameConversation } from '../domain/ids.ts';
import type { FailedQuery, FailedTurn } from '../domain/ports/failed-turns.ts';
import type { OpenTurn, OpenTurns } from '../domain/ports/open-turns.ts';
import type { AcceptRequest, AcceptResult, CancelResult, TurnIntake } from '../domain/ports/turn-store.ts';
import { type CanceledTurnView, isSettled, type OnBusy, type TurnAnswer, type TurnView } from '../domain/turn.ts';
import { viewWait } from '../domain/wait-view.ts';
import { answerTurn } from './answers.ts';
import { enterMailbox, replacesHead } from './busy-turns.ts';
import type { MemoryConversation, MemoryDatabase } from './database.ts';
import { closeOpenCalls } from './log.ts';
import {
  endsWithHead,
  headTurn,
  isRecorded,
  popHead,
  raiseEpoch,
  settleHead,
  settleRecord,
  steeredTurns,
} from './mailbox.ts';
import { scheduledEntry } from './members.ts';
import { keepStreamedText } from './stopped-text.ts';
import type { MemoryTurn } from './turn-record.ts';
import { viewWaiting } from './waiting.ts';

/**
 * Opens, in memory, the operations on turns that the client uses. The contract tests in test/store run against this store
 * and against Redis.
 */
export function openMemoryTurnIntake(db: MemoryDatabase): TurnIntake {
  return {
    accept: async (request) => accept(db, request),
    answerTurn: async (request) => answerTurn(db, request),
    cancel: async (ref, turn, wake) => cancel(db, ref, turn, wake),
    readTurn: async (ref, turn) => {
      const conversation = db.find(ref);
      const record = conversation?.turnRecords.get(turn);
      return conversation && record && viewTurn(conversation, record);
    },
    listFailed: async (query) => listFailed(db, query),
    listOpen: async (ref, limit) => listOpen(db, ref, limit),
    readInputs: async (ref, turns) => readInputs(db, ref, turns),
  };
}

function accept(db: MemoryDatabase, request: AcceptRequest): AcceptResult {
  const {
    conversation: ref,
    turn,
    agent,
    payloadHash,
    input,
    wake,
    delayMs = 0,
    maxQueuedTurns,
    redriveOf,
    traceParent,
    context,
    caps,
  } = request;
  const known = db.isGone(ref) ? undefined : db.find(ref)?.turnRecords.get(turn);
  if (known !== undefined) {
    if (known.payloadHash !== payloadHash) return { status: 'conflict' };
    const needsWake = known.state === 'queued' && db.find(ref)?.wake === wake;
    return { status: 'known', state: known.state, needsWake };
  }
  const forking = db.findFork(ref);
  if (forking !== undefined) return forking;
  const other = db.findOtherAgent(ref, agent);
  if (other !== undefined) return { status: 'other_agent', agent: other };
  const original = redriveOf === undefined || db.isGone(ref) ? undefined : db.find(ref)?.turnRecords.get(redriveOf);
  if (redriveOf !== undefined && original?.state !== 'failed') {
    return { status: 'not_failed', ...(original && { state: original.state }) };
  }
  const queued = db.isGone(ref) ? 0 : (db.find(ref)?.mailbox.length ?? 0);
  const onBusy = findOnBusy(db, request);
  const isDue = delayMs <= 0;
  if (isDue && onBusy === 'reject' && queued > 0) return { status: 'busy', queued };
  const conversation = db.open(ref, agent);
  const dueAt = db.now() + delayMs;
  const left = queued > 0 && replacesHead(onBusy) ? queued - 1 - steeredTurns(conversation).length : queued;
  if (isDue && left >= maxQueuedTurns) return { status: 'full', queued };
  const state = isDue ? 'queued' : 'scheduled';
  const extra = { ...(!isDue && { dueAt }), ...(redriveOf !== undefined && { redriveOf }), traceParent, context, caps };
  const record = { turn, agent, payloadHash, input, state, acceptedAt: db.now(), ...extra } as const;
  if (original !== undefined) original.redrivenAs = turn;
  const answering = { answers: new Map(), decisions: new Map(), unused: new Map() };
  const maps = { steps: new Map(), ...answering, suspensions: new Map(), suspendedSince: new Map() };
  const stored: MemoryTurn = { ...record, ...maps };
  conversation.turnRecords.set(turn, stored);
  if (isDue) return { status: 'accepted', state, needsWake: enterMailbox(db, conversation, stored, { wake, onBusy }) };
  db.ready.set(scheduledEntry(ref, turn), dueAt);
  return { status: 'accepted', state, needsWake: false };
}

/** Returns `onBusy`, or `enqueue` if the request names another turn than the first one. */
function findOnBusy(db: MemoryDatabase, { conversation: ref, onBusy = 'enqueue', busyTurn }: AcceptRequest): OnBusy {
  const conversation = db.isGone(ref) ? undefined : db.find(ref);
  if (busyTurn === undefined || onBusy === 'reject' || conversation === undefined) return onBusy;
  return endsWithHead(conversation, busyTurn) ? onBusy : 'enqueue';
}

function cancel(db: MemoryDatabase, ref: ConversationRef, turn: string, wake: string): CancelResult {
  const conversation = db.find(ref);
  const record = conversation?.turnRecords.get(turn);
  if (conversation === undefined || record === undefined || db.isGone(ref)) return { status: 'not_found' };
  if (isSettled(record.state)) {
    if (record.canceledBy !== wake) return { status: 'settled', state: record.state };
    return { status: 'canceled', ...(isRecorded(conversation, wake) && { wake }) };
  }
  const head = endsWithHead(conversation, turn) ? headTurn(conversation) : undefined;
  if (head?.inputSeq !== undefined) {
    closeOpenCalls(conversation, head.turn, db.now());
    keepStreamedText(db, conversation, head);
  }
  if (head !== undefined) {
    settleHead(db, conversation, head, { state: 'canceled', canceledBy: wake });
    raiseEpoch(db, conversation);
    return { status: 'canceled', ...(popHead(db, conversation, wake) && { wake }) };
  }
  settleRecord(db, conversation, record, { state: 'canceled', canceledBy: wake });
  const at = conversation.mailbox.indexOf(turn);
  if (at >= 0) conversation.mailbox.splice(at, 1);
  db.ready.delete(scheduledEntry(ref, turn));
  return { status: 'canceled' };
}

function viewTurn(conversation: MemoryConversation, record: MemoryTurn): TurnView {
  const { turn, agent, acceptedAt, settledAt, inputSeq, failure, usage } = record;
  const { state, waiting } = viewWait(record.state, record.waiting && viewWaiting(record.waiting, record));
  const answer = viewAnswer(conversation, record);
  const view = {
    turn,
    state,
    agent,
    acceptedAt,
    ...(settledAt !== undefined && { settledAt }),
    ...(inputSeq !== undefined && { inputSeq }),
    ...(answer && { answer }),
    ...viewStopped(conversation, record),
    ...(failure && { failure }),
    ...readRedrive(record),
    ...(record.steeredInto !== undefined && { steeredInto: record.steeredInto }),
    ...(record.requests !== undefined && { requests: record.requests }),
    requestTokens: record.requestTokens ?? [],
    ...(usage && { usage }),
    ...(waiting && { waiting }),
  };
  return view as unknown as TurnView; // the record has all fields that the view of its state needs
}

function viewStopped({ log }: MemoryConversation, { stoppedSeq: seq }: MemoryTurn): Pick<CanceledTurnView, 'stopped'> {
  const content = seq === undefined ? undefined : log[seq - 1]?.message.content;
  return seq === undefined || content === undefined ? {} : { stopped: { seq, content } };
}

function viewAnswer({ log }: MemoryConversation, { answerSeq, end, isStructured }: MemoryTurn): TurnAnswer | undefined {
  const entry = answerSeq === undefined ? undefined : log[answerSeq - 1];
  if (entry === undefined) return undefined;
  const { content } = entry.message;
  return { seq: entry.seq, content, ...(end && { end }), ...(isStructured && { value: readJsonAnswer(content) }) };
}

function readRedrive({ redriveOf, redrivenAs }: MemoryTurn): Pick<FailedTurn, 'redriveOf' | 'redrivenAs'> {
  return { ...(redriveOf !== undefined && { redriveOf }), ...(redrivenAs !== undefined && { redrivenAs }) };
}

function listFailed(db: MemoryDatabase, { since, tenant, code, limit }: FailedQuery): FailedTurn[] {
  const found = [...db.conversations.values()].flatMap(({ ref, turnRecords }) =>
    [...turnRecords.values()].flatMap((record): FailedTurn[] => {
      const { turn, agent, failure, settledAt = 0 } = record;
      const isWanted =
        settledAt >= since && (tenant ?? ref.tenant) === ref.tenant && (code ?? failure?.code) === failure?.code;
      if (failure === undefined || !isWanted || db.isGone(ref)) return [];
      return [{ ...nameConversation(ref), turn, agent, failedAt: settledAt, failure, ...readRedrive(record) }];
    }),
  );
  return found.toSorted((a, b) => b.failedAt - a.failedAt).slice(0, limit);
}

function listOpen(db: MemoryDatabase, ref: ConversationRef, limit: number): OpenTurns | undefined {
  const conversation = db.find(ref);
  if (conversation === undefined || db.isGone(ref)) return undefined;
  const { mailbox, turnRecords } = conversation;
  const queued = mailbox.flatMap((turn) => turnRecords.get(turn) ?? []);
  const scheduled = [...turnRecords.values()].filter(({ state }) => state === 'scheduled');
  const byDueTime = scheduled.toSorted((a, b) => (a.dueAt ?? 0) - (b.dueAt ?? 0) || (a.turn < b.turn ? -1 : 1));
  const turns = [...queued, ...byDueTime].slice(0, limit).map((record): OpenTurn => {
    const { turn, acceptedAt, dueAt } = record;
    const { state, waiting } = viewWait(
      record.state as OpenTurn['state'],
      record.waiting && viewWaiting(record.waiting, record),
    );
    return {
      turn,
      state,
      acceptedAt,
      ...(state === 'scheduled' && dueAt !== undefined && { dueAt }),
      ...(waiting && { waiting }),
    };
  });
  return { turns, mailbox: mailbox.length, scheduled: scheduled.length, at: db.now() };
}

function readInputs(db: MemoryDatabase, ref: ConversationRef, turns: readonly string[]): ReadonlyMap<string, string> {
  const records = db.isGone(ref) ? undefined : db.find(ref)?.turnRecords;
  return new Map(
    turns.flatMap((turn) => {
      const { input, inputSeq, state = 'completed' } = records?.get(turn) ?? {};
      const isUnclaimed = input !== undefined && inputSeq === undefined && !isSettled(state);
      return isUnclaimed ? [[turn, input.message.content] as const] : [];
    }),
  );
}
