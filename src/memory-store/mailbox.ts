import type { Leaving } from '../domain/leaving.ts';
import type { IdleTtl } from '../domain/policy.ts';
import type { AnswerEnd, TurnFailure, TurnUsage, WaitKind } from '../domain/turn.ts';
import { joinUsage, NO_USAGE } from '../domain/usage.ts';
import { WEBHOOK_EVENTS } from '../domain/webhook.ts';
import type { MemoryConversation, MemoryDatabase } from './database.ts';
import { idOf } from './event-store.ts';
import { restartIdleTtl } from './idle-ttl.ts';
import { readyEntry } from './members.ts';
import { scheduleIdlePacking } from './pack-store.ts';
import { endStream } from './stream-store.ts';
import type { MemoryTurn } from './turn-record.ts';

export const WAKE_GRACE_MS = 5_000;

/** Records the wake (queue job) that the caller adds next, as `lua/shared/wake.lua` does in Redis. */
export function wakeTurn(db: MemoryDatabase, conversation: MemoryConversation, wake: string): void {
  conversation.wake = wake;
  db.ready.set(readyEntry('t', conversation.ref), db.now() + WAKE_GRACE_MS);
}

/** Ends the wait of the first turn of the mailbox, as `lua/shared/fulfil.lua` does in Redis. */
export function endWait(
  db: MemoryDatabase,
  conversation: MemoryConversation,
  kind: WaitKind,
  { wake, isFulfilled }: { readonly wake: string; readonly isFulfilled: boolean },
): boolean {
  const head = headTurn(conversation);
  if (head?.state !== 'waiting' || head.waiting?.for !== kind || head.waiting.isOver) return false;
  Object.assign(head.waiting, { isOver: true, isFulfilled });
  wakeTurn(db, conversation, wake);
  return true;
}

export function headTurn(conversation: MemoryConversation): MemoryTurn | undefined {
  const [id] = conversation.mailbox;
  return id === undefined ? undefined : conversation.turnRecords.get(id);
}

/** Stores an event of the conversation, as `emit` of `lua/shared/events.lua` does in Redis. */
export function emit(
  db: MemoryDatabase,
  { ref: conversation, events }: MemoryConversation,
  type: string,
  fields: Readonly<Record<string, string>>,
): void {
  const event = { nth: (events.at(-1)?.nth ?? 0) + 1, at: db.now(), type, fields };
  events.push(event);
  if (!Object.values<string>(WEBHOOK_EVENTS).includes(type)) return;
  for (const { id: webhook, tenant } of db.webhooks.values()) {
    const name = `${webhook}|${tenant}|${conversation.id}`;
    if (tenant !== conversation.tenant || db.outbox.has(name)) continue;
    db.outbox.set(name, { webhook, conversation, next: idOf(event), attempts: 0, dueAt: event.at });
  }
}

/** Raises the epoch, so that writes of former owners are refused, as `lua/shared/fence.lua` does in Redis. */
export function raiseEpoch(db: MemoryDatabase, conversation: MemoryConversation): void {
  conversation.epoch = Math.max(conversation.epoch + 1, db.now());
}

/** How a turn ends. */
export type End = IdleTtl &
  (
    | {
        readonly state: 'completed';
        readonly answerSeq: number;
        readonly end?: AnswerEnd;
        readonly isStructured?: boolean;
      }
    | { readonly state: 'failed'; readonly failure: TurnFailure }
    | { readonly state: 'canceled'; readonly canceledBy: string }
  );

/** Writes the end of a turn into its record, as `settle_turn` of `lua/shared/settle.lua` does in Redis. */
export function settleRecord(
  db: MemoryDatabase,
  conversation: MemoryConversation,
  record: MemoryTurn,
  { conversationTtl, ...end }: End,
): void {
  for (const call of record.answers.keys()) record.answers.set(call, '');
  record.unused.clear();
  record.suspensions.clear();
  record.suspendedSince.clear();
  record.input = undefined;
  record.context = undefined;
  record.taken = undefined;
  record.waiting = undefined;
  const settledAt = Math.max(db.now(), conversation.lastTurn?.settledAt ?? 0, record.acceptedAt);
  conversation.lastTurn = { state: end.state, settledAt };
  Object.assign(record, end, { settledAt });
  const { usage } = record;
  if (usage !== undefined) addSpending(db, conversation, usage);
  emit(db, conversation, 'turn_settled', { turn: record.turn, state: end.state, ...writeUsage(usage) });
  endStream(db, conversation, record.turn);
  restartIdleTtl(db, conversation, conversationTtl);
}

/** Adds the usage of model calls to the sums of conversation and tenant, as `lua/shared/spending.lua` does in Redis. */
export function addSpending(db: MemoryDatabase, conversation: MemoryConversation, usage: TurnUsage): void {
  const { tenant } = conversation.ref;
  conversation.spent = joinUsage(conversation.spent ?? NO_USAGE, usage);
  db.tenantUsage.set(tenant, joinUsage(db.tenantUsage.get(tenant) ?? NO_USAGE, usage));
}

/** Fields of an event with values above 0. */
function writeUsage(usage: TurnUsage = NO_USAGE): Record<string, string> {
  const used = Object.entries(usage).filter(([, amount]) => amount > 0);
  return Object.fromEntries(used.map(([name, amount]) => [name, String(amount)]));
}

/** Settles the head turn and the turns that went into it, as `settle_head` of `lua/shared/settle.lua` does in Redis. */
export function settleHead(db: MemoryDatabase, conversation: MemoryConversation, record: MemoryTurn, end: End): void {
  settleRecord(db, conversation, record, end);
  for (const steered of steeredTurns(conversation)) {
    settleRecord(db, conversation, steered, end);
    conversation.mailbox.splice(conversation.mailbox.indexOf(steered.turn), 1);
  }
}

/** Ranges that a conversation remembers of the turns whose messages left its context. */
const MOST_LEFT = 64;

/** Notes that messages leave the context, as `leave_context` of `lua/shared/leave.lua` does in Redis. */
export function leaveContext(conversation: MemoryConversation, { from, why }: Leaving): void {
  const range = { from, to: conversation.log.length };
  conversation.undo.push(range);
  conversation.left = [...conversation.left, { ...range, why }].slice(-MOST_LEFT);
}

/** Turns whose messages went into the head turn. They stand directly behind it. */
export function steeredTurns({ mailbox, turnRecords }: MemoryConversation): MemoryTurn[] {
  const behind = mailbox.slice(1).flatMap((turn) => turnRecords.get(turn) ?? []);
  const end = behind.findIndex(({ steeredInto }) => steeredInto === undefined);
  return end === -1 ? behind : behind.slice(0, end);
}

/** True for the head turn, and for a turn whose message went into it, as `ends_with_head` of `lua/shared/conversation.lua` says in Redis. */
export function endsWithHead(conversation: MemoryConversation, turn: string): boolean {
  return conversation.mailbox[0] === turn || steeredTurns(conversation).some((steered) => steered.turn === turn);
}

/** Removes the settled turn from the mailbox, as `pop_head` of `lua/shared/settle.lua` does in Redis. */
export function popHead(db: MemoryDatabase, conversation: MemoryConversation, wake: string | undefined): boolean {
  conversation.mailbox.shift();
  conversation.owner = undefined;
  conversation.leaseUntil = undefined;
  conversation.attempts = 0;
  if (conversation.mailbox.length === 0) {
    db.ready.delete(readyEntry('t', conversation.ref));
    scheduleIdlePacking(db, conversation);
    return false;
  }
  if (wake !== undefined) wakeTurn(db, conversation, wake);
  else db.ready.set(readyEntry('t', conversation.ref), db.now() + WAKE_GRACE_MS);
  return true;
}

/** Returns true if the first call recorded this wake, as `needs_wake` of `lua/shared/settle.lua` does in Redis. */
export function isRecorded(conversation: MemoryConversation, wake: string | undefined): wake is string {
  return wake !== undefined && conversation.wake === wake && conversation.mailbox.length > 0;
}
