import type { ConversationRef } from '../domain/ids.ts';
import { isOtherPayload } from '../domain/operation.ts';
import { PASS_LIMITS } from '../domain/pass.ts';
import {
  FORK_LEASE_MS,
  type ForkBatch,
  type ForkBegin,
  type ForkBeginResult,
  type ForkEndResult,
  type ForkLost,
  type VersionReplacement,
  type VersionReplacementResult,
  type VersionStore,
} from '../domain/ports/version-store.ts';
import { checkNumber, shownKeys, type Version } from '../domain/version.ts';
import type { MemoryConversation, MemoryDatabase } from './database.ts';
import { restartIdleTtl } from './idle-ttl.ts';
import { findAnswer } from './kept-answers.ts';
import { moveCalls } from './log.ts';
import { headTurn } from './mailbox.ts';
import { finishPass, supersedeOwner } from './pass-end.ts';
import { putVersion } from './put-version.ts';

/**
 * Opens, in memory, the operations on context versions that the client uses. The contract tests in test/store run against
 * this store and against Redis.
 */
export function openMemoryVersionStore(db: MemoryDatabase): VersionStore {
  return {
    replaceVersion: async (replacement) => {
      checkNumber(replacement);
      return replaceVersion(db, replacement);
    },
    startIdleTtl: async (ref) => {
      const conversation = db.find(ref);
      if (conversation?.ttl !== undefined) restartIdleTtl(db, conversation);
    },
    readTexts: async (ref) => {
      const { summaries, texts } = db.find(ref) ?? { summaries: new Map(), texts: new Map() };
      return structuredClone({ summaries, byHash: texts, next: '0' });
    },
    beginFork: async (begin) => beginFork(db, begin),
    copyToFork: async (ref, operation, batch) => copyToFork(db, ref, { operation, batch }),
    endFork: async (ref, operation, version) => endFork(db, ref, { operation, version }),
  };
}

function replaceVersion(db: MemoryDatabase, replacement: VersionReplacement): VersionReplacementResult {
  const { conversation: ref, operation, expectedVersion, expectedHead, version, keepVersions } = replacement;
  if (db.isGone(ref)) return { status: 'gone' };
  const conversation = db.find(ref);
  if (conversation === undefined) return { status: 'not_found' };
  const known = findAnswer(conversation.replacements, operation, (kept) => ({ status: 'known' as const, ...kept }));
  if (known !== undefined) return known;
  const forking = db.findFork(ref);
  if (forking !== undefined) return forking;
  if (isBusy(conversation, replacement)) return { status: 'busy' };
  const head = conversation.log.length;
  if (conversation.version !== expectedVersion || head !== expectedHead) {
    return { status: 'changed', version: conversation.version, head };
  }
  if (!hasTexts(conversation, version)) return { status: 'text_gone' };
  const isAwaited = endOpenPass(db, conversation, replacement.wakeTurn);
  for (const number of [expectedVersion, version.number]) if (number > 0) conversation.points.add(number);
  putVersion(db, conversation, version, keepVersions);
  conversation.backoff = replacement.backoff;
  conversation.undo = [];
  restartIdleTtl(db, conversation);
  const answer = { version: version.number, ...(isAwaited && { wakeTurn: replacement.wakeTurn }) };
  conversation.replacements.set(operation, answer);
  return { status: 'replaced', ...answer };
}

function isBusy(conversation: MemoryConversation, { keepsNewer }: VersionReplacement): boolean {
  if (conversation.owner !== undefined) return true;
  const isInFlight = headTurn(conversation)?.state === 'waiting' || conversation.openCalls.size > 0;
  return isInFlight && !keepsNewer;
}

function endOpenPass(db: MemoryDatabase, conversation: MemoryConversation, wakeTurn: string): boolean {
  if (conversation.pass === undefined) return false;
  supersedeOwner(conversation);
  const isAwaited = finishPass(db, conversation, 'superseded', wakeTurn);
  delete conversation.lastEnd;
  return isAwaited;
}

function beginFork(db: MemoryDatabase, begin: ForkBegin): ForkBeginResult {
  const { conversation: ref, operation, agent, plan, conversationTtl } = begin;
  const known = db.isGone(ref) ? undefined : db.find(ref);
  const until = db.now() + FORK_LEASE_MS;
  if (known?.fork?.operation === operation) {
    if (!known.fork.isOpen) return { status: 'done', plan: known.fork.plan };
    known.fork = { ...known.fork, until };
    return { status: 'copying', copied: known.log.length, plan: known.fork.plan };
  }
  if (isOtherPayload(operation, known?.fork?.operation)) return { status: 'other_payload' };
  if (known !== undefined) {
    const forking = db.findFork(ref);
    if (forking === undefined) return { status: 'exists' };
    if (!forking.isAbandoned) return forking;
    db.remove(ref);
  }
  const made = db.open(ref, agent);
  made.fork = { operation, plan, isOpen: true, until };
  restartIdleTtl(db, made, conversationTtl);
  return { status: 'copying', copied: 0, plan };
}

function copyToFork(
  db: MemoryDatabase,
  ref: ConversationRef,
  { operation, batch }: { readonly operation: string; readonly batch: ForkBatch },
): { readonly status: 'copied'; readonly head: number } | ForkLost {
  const conversation = findOpenFork(db, ref, operation);
  if ('status' in conversation) return conversation;
  const { log, summaries, texts, fork } = conversation;
  if (fork !== undefined) conversation.fork = { ...fork, until: db.now() + FORK_LEASE_MS };
  for (const [key, summary] of batch.texts.summaries) {
    if (!summaries.has(key)) summaries.set(key, structuredClone(summary));
  }
  for (const [hash, text] of batch.texts.byHash) texts.set(hash, text);
  if (log.length !== batch.expectedHead) return { status: 'copied', head: log.length };
  moveCalls(conversation, batch.opens, batch.closes);
  for (const entry of structuredClone(batch.entries)) {
    log.push({ ...entry, seq: log.length + 1 });
    if (entry.message.role === 'user') conversation.turns += 1;
  }
  return { status: 'copied', head: log.length };
}

function endFork(
  db: MemoryDatabase,
  ref: ConversationRef,
  { operation, version }: { readonly operation: string; readonly version: Version },
): ForkEndResult {
  const conversation = findOpenFork(db, ref, operation);
  if ('status' in conversation) {
    const isDone = conversation.status === 'superseded' && db.find(ref)?.fork?.operation === operation;
    return isDone ? { status: 'done' } : conversation;
  }
  const head = conversation.log.length;
  const isComplete = head >= (conversation.fork?.plan.head ?? 0) && hasTexts(conversation, version);
  if (!isComplete) return { status: 'incomplete', head };
  putVersion(db, conversation, version, PASS_LIMITS.keepVersions);
  conversation.passed = { head, turns: conversation.turns };
  if (conversation.fork !== undefined) conversation.fork = { ...conversation.fork, isOpen: false };
  restartIdleTtl(db, conversation);
  return { status: 'done' };
}

function hasTexts({ summaries }: MemoryConversation, version: Version): boolean {
  return shownKeys(version).every((key) => summaries.has(key));
}

/** Returns the fork if this operation still copies into it, as `lua/shared/fork-fence.lua` checks in Redis. */
function findOpenFork(db: MemoryDatabase, ref: ConversationRef, operation: string): MemoryConversation | ForkLost {
  if (db.isGone(ref)) return { status: 'gone' };
  const conversation = db.find(ref);
  if (conversation?.fork?.operation !== operation || !conversation.fork.isOpen) return { status: 'superseded' };
  return conversation;
}
