import { encodeWaitingCalls } from '../domain/event-record.ts';
import { describeDecision, isAnswerKind, type Waiting, type WaitRequest } from '../domain/turn.ts';
import type { MemoryConversation, MemoryDatabase } from './database.ts';
import { emit } from './mailbox.ts';
import type { MemoryTurn } from './turn-record.ts';

type Wait = NonNullable<MemoryTurn['waiting']>;

/**
 * Builds the wait of a turn. As in `lua/suspend-turn.lua`, a tool call that was awaited before keeps its earlier deadline.
 */
export function makeWait(
  db: MemoryDatabase,
  { waiting: before, steps }: MemoryTurn,
  { waitMs, maxMs: _maxMs, calls, passId: _passId, ...wait }: WaitRequest,
): Omit<Wait, 'isFulfilled' | 'isOver'> {
  const kept = before?.for === wait.for ? before.calls : [];
  const dated = calls.map(({ waitMs: callMs, ...call }) => ({
    ...call,
    until: kept.find(({ id }) => id === call.id)?.until ?? db.now() + callMs,
  }));
  const until = Math.min(db.now() + waitMs, ...dated.map((call) => call.until));
  return { ...wait, since: db.now(), until, calls: dated, steps: steps.size };
}

/** Emits the event of a turn that starts to wait, as `lua/suspend-turn.lua` does in Redis. */
export function emitWait(
  db: MemoryDatabase,
  conversation: MemoryConversation,
  { turn, waiting }: MemoryTurn,
  { calls }: WaitRequest,
): void {
  if (waiting === undefined) return;
  emit(db, conversation, 'turn_waiting', {
    turn,
    for: waiting.for,
    until: String(waiting.until),
    calls: encodeWaitingCalls(calls),
    deadlines: waiting.calls.map(({ until }) => until).join(','),
  });
}

/**
 * Shortens the wait to the earliest deadline of an unanswered tool call, as `lua/answer-turn.lua` does in Redis.
 */
export function shortenWait(record: MemoryTurn): void {
  const { waiting, answers } = record;
  if (waiting === undefined || !isAnswerKind(waiting.for)) return;
  const open = waiting.calls.filter(({ id }) => !answers.has(id));
  record.waiting = { ...waiting, until: Math.min(...open.map(({ until }) => until)) };
}

/** Shows a wait with the answers that its calls have already. */
export function viewWaiting(waiting: Wait, { decisions }: Pick<MemoryTurn, 'decisions'>): Waiting {
  const { isFulfilled: _isFulfilled, isOver: _isOver, steps: _steps, suspendedIn: _suspendedIn, ...shown } = waiting;
  const calls = shown.calls.map((call) => {
    const { verdict, at, by } = decisions.get(call.id) ?? {};
    return verdict === undefined ? call : { ...call, decision: describeDecision(verdict, at ?? 0, by) };
  });
  return { ...shown, calls };
}
