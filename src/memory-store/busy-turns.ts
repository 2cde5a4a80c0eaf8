import type { BusyTurnStore, TurnUndo, UndoResult } from '../domain/ports/busy-turns.ts';
import type { TurnLease } from '../domain/ports/turn-store.ts';
import type { OnBusy } from '../domain/turn.ts';
import { checkNumber } from '../domain/version.ts';
import { toConversationState } from './conversation-state.ts';
import type { MemoryConversation, MemoryDatabase } from './database.ts';
import { appendToLog, closeOpenCalls } from './log.ts';
import {
  emit,
  headTurn,
  leaveContext,
  raiseEpoch,
  settleHead,
  steeredTurns,
  WAKE_GRACE_MS,
  wakeTurn,
} from './mailbox.ts';
import { readyEntry } from './members.ts';
import { finishPass, supersedeOwner } from './pass-end.ts';
import { putVersion } from './put-version.ts';
import { keepStreamedText } from './stopped-text.ts';
import { notifyReaders } from './stream-store.ts';
import { findOwned } from './turn-lease.ts';
import type { MemoryTurn } from './turn-record.ts';

/** Opens, in memory, the operations of a running turn on turns that were enqueued with `onBusy`. */
export function openMemoryBusyTurnStore(db: MemoryDatabase): BusyTurnStore {
  return {
    takeSteering: async (lease) => {
      const owned = findOwned(db, lease);
      if ('status' in owned) return owned;
      takeSteering(db, owned.conversation, lease.turn);
      return { status: 'taken', conversation: toConversationState(owned.conversation) };
    },
    undoTurns: async (lease, undo) => undoTurns(db, lease, undo),
  };
}

function takeSteering(db: MemoryDatabase, conversation: MemoryConversation, turn: string): void {
  const { mailbox, turnRecords, openCalls } = conversation;
  if (openCalls.size > 0) return;
  for (const id of mailbox.slice(1 + steeredTurns(conversation).length)) {
    const steering = turnRecords.get(id);
    if (steering?.isSteering !== true) break;
    enterInput(db, conversation, steering);
    steering.isSteering = false;
    steering.steeredInto = turn;
    emit(db, conversation, 'turn_steered', { turn: id, into: turn, seq: String(conversation.log.length) });
    notifyReaders(db, conversation, turn);
  }
  conversation.isSteered = false;
}

/** Appends the user message of a turn to the log, as `enter_input` of `lua/shared/take-head.lua` does in Redis. */
export function enterInput(db: MemoryDatabase, conversation: MemoryConversation, record: MemoryTurn): void {
  record.state = 'running';
  if (record.input === undefined) return;
  closeOpenCalls(conversation, record.turn, db.now());
  record.inputSeq = appendToLog(conversation, [record.input], db.now(), record.turn);
  record.input = undefined;
}

function undoTurns(db: MemoryDatabase, lease: TurnLease, undo: TurnUndo): UndoResult {
  checkNumber(undo);
  const found = db.isGone(lease.conversation) ? undefined : db.find(lease.conversation);
  const hasSettled = found?.settledBy === lease.epoch && found.mailbox.length === 0;
  const owned = hasSettled ? { conversation: found } : findOwned(db, lease);
  if ('status' in owned) return owned;
  const { conversation } = owned;
  if (conversation.undo.length > 0) {
    if (conversation.version !== undo.expectedVersion)
      return { status: 'version_changed', version: conversation.version };
    conversation.backoff = undo.backoff;
    if (conversation.pass !== undefined) {
      supersedeOwner(conversation);
      finishPass(db, conversation, 'superseded', '');
      delete conversation.lastEnd;
    }
    if (undo.version.explained.includes('turn_rolled_back')) conversation.points.add(undo.version.number);
    putVersion(db, conversation, undo.version, undo.keepVersions);
    conversation.undo = [];
    return { status: 'undone', conversation: toConversationState(conversation) };
  }
  return { status: 'known', conversation: toConversationState(conversation) };
}

/** True if a new turn takes the place of the head turn. */
export function replacesHead(onBusy: OnBusy): boolean {
  return onBusy === 'interrupt' || onBusy === 'rollback';
}

/**
 * Adds a new turn to the mailbox.
 * @returns true if the caller has to add the wake to the queue
 */
export function enterMailbox(
  db: MemoryDatabase,
  conversation: MemoryConversation,
  record: MemoryTurn,
  { wake, onBusy }: { readonly wake: string; readonly onBusy: OnBusy },
): boolean {
  const { mailbox, ref } = conversation;
  const isBusy = mailbox.length > 0;
  if (isBusy && replacesHead(onBusy)) {
    replaceHead(db, conversation, { turn: record.turn, wake, isUndone: onBusy === 'rollback' });
    return true;
  }
  if (isBusy && onBusy === 'steer') steerHead(conversation, record);
  else mailbox.push(record.turn);
  if (!isBusy) wakeTurn(db, conversation, wake);
  else if (!db.ready.has(readyEntry('t', ref))) db.ready.set(readyEntry('t', ref), db.now() + WAKE_GRACE_MS);
  return !isBusy;
}

/** Adds a turn that steers the head turn, as `steer_head` of `lua/shared/busy.lua` does in Redis. */
function steerHead(conversation: MemoryConversation, record: MemoryTurn): void {
  const { mailbox, turnRecords } = conversation;
  record.isSteering = true;
  conversation.isSteered = true;
  const first = 1 + steeredTurns(conversation).length;
  const place = mailbox.findIndex((turn, at) => at >= first && turnRecords.get(turn)?.isSteering !== true);
  mailbox.splice(place === -1 ? mailbox.length : place, 0, record.turn);
}

/** Puts a new turn where the head turn was, as `replace_head` of `lua/shared/busy.lua` does in Redis. */
function replaceHead(
  db: MemoryDatabase,
  conversation: MemoryConversation,
  { turn, wake, isUndone }: { readonly turn: string; readonly wake: string; readonly isUndone: boolean },
): void {
  const record = headTurn(conversation);
  if (record === undefined) return;
  const { inputSeq } = record;
  if (inputSeq !== undefined) {
    closeOpenCalls(conversation, record.turn, db.now());
    keepStreamedText(db, conversation, record);
  } else if (!isUndone) enterInput(db, conversation, record);
  settleHead(db, conversation, record, { state: 'canceled', canceledBy: wake });
  if (isUndone && inputSeq !== undefined) leaveContext(conversation, { from: inputSeq, why: 'rolled_back' });
  raiseEpoch(db, conversation);
  conversation.owner = undefined;
  conversation.leaseUntil = undefined;
  conversation.attempts = 0;
  conversation.mailbox[0] = turn;
  wakeTurn(db, conversation, wake);
}
