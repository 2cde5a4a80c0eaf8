import { rangesToRead } from '../domain/context.ts';
import type { LogEntry } from '../domain/message.ts';
import type { AppendRequest, AppendResult, ContextReader, ContextStore } from '../domain/ports/context-store.ts';
import { checkRanges } from '../domain/seq-ranges.ts';
import { checkHead, START_VERSION, type Summary, shownKeys, type Version } from '../domain/version.ts';
import { toConversationState } from './conversation-state.ts';
import type { MemoryConversation, MemoryDatabase } from './database.ts';
import { eraseRecords } from './erase.ts';
import { restartIdleTtl } from './idle-ttl.ts';
import { findAnswer } from './kept-answers.ts';
import { appendToLog, moveCalls } from './log.ts';
import { headTurn, steeredTurns } from './mailbox.ts';
import { scheduleIdlePacking } from './pack-store.ts';
import { createPass } from './pass-store.ts';

/**
 * Opens the store of logs, context versions and texts in memory. The contract tests in test/store run against this store
 * and against Redis.
 */
export function openMemoryContextStore(db: MemoryDatabase): ContextStore {
  return {
    readConversation: async (ref) => {
      const conversation = db.find(ref);
      return conversation && toConversationState(conversation);
    },
    readContext: async (ref, at) => db.copy(readContext(db.find(ref), at)),
    readLog: async (ref, ranges, maxBytes) => db.copy(takeBytes(readRanges(db.find(ref), ranges), maxBytes)),
    readText: async (ref, hash) => db.find(ref)?.texts.get(hash),
    readAgentList: async (ref, hash, schema) => {
      const text = db.find(ref)?.texts.get(hash);
      return text === undefined ? [] : schema.parse(JSON.parse(text));
    },
    readSystem: async (ref) => db.find(ref)?.system?.text,
    append: async (request) => append(db, request),
    listVersions: async (ref) =>
      structuredClone([...(db.find(ref)?.versions.values() ?? [])]).toSorted((a, b) => a.number - b.number),
    readVersion: async (ref, number) => structuredClone(db.find(ref)?.versions.get(number)),
    readShownSummaries: async (ref, version) => db.copy(findSummaries(db.find(ref), version)),
    erase: async (ref) => ({ removedKeys: eraseRecords(db, ref) }),
  };
}

type Context = Awaited<ReturnType<ContextReader['readContext']>>;

function readContext(
  conversation: MemoryConversation | undefined,
  at: Parameters<ContextReader['readContext']>[1] = {},
): Context {
  if (conversation === undefined) return undefined;
  const number = at.version ?? conversation.version;
  const version = number === START_VERSION.number ? START_VERSION : conversation.versions.get(number);
  if (version === undefined) return undefined;
  const head = at.head ?? conversation.log.length;
  checkHead(head, { head: conversation.log.length, version });
  const inputs = findInputs(conversation);
  return {
    version,
    head,
    ...(inputs.length > 0 && { inputs }),
    entries: readRanges(conversation, rangesToRead(version, head)),
    summaries: findSummaries(conversation, version),
  };
}

/** Finds the messages of the running turn as `lua/read-version.lua` does in Redis. */
function findInputs(conversation: MemoryConversation): number[] {
  return [headTurn(conversation), ...steeredTurns(conversation)].flatMap((turn) => turn?.inputSeq ?? []);
}

function findSummaries(conversation: MemoryConversation | undefined, version: Version): Map<string, Summary> {
  const names = new Set(shownKeys(version));
  return new Map([...(conversation?.summaries ?? [])].filter(([name]) => names.has(name)));
}

function readRanges(
  conversation: MemoryConversation | undefined,
  ranges: readonly { readonly from: number; readonly to: number }[],
) {
  checkRanges(ranges);
  const log = conversation?.log ?? [];
  return ranges.flatMap(({ from, to }) => log.slice(from - 1, to));
}

/** Takes entries up to the one that reaches so many bytes. */
function takeBytes(entries: LogEntry[], maxBytes = Number.POSITIVE_INFINITY): LogEntry[] {
  let left = maxBytes;
  const last = entries.findIndex(({ bytes }) => (left -= bytes) <= 0);
  return last === -1 ? entries : entries.slice(0, last + 1);
}

function append(db: MemoryDatabase, request: AppendRequest): AppendResult {
  const { conversation: ref, operation, agent, expectedHead, messages, opens, closes, firstPass } = request;
  const found = db.isGone(ref) ? undefined : db.find(ref);
  const known = found && findAnswer(found.operations, operation, (kept) => ({ status: 'known' as const, ...kept }));
  if (known !== undefined) return known;
  const forking = db.findFork(ref);
  if (forking !== undefined) return forking;
  const other = db.findOtherAgent(ref, agent);
  if (other !== undefined) return { status: 'other_agent', agent: other };
  if (found !== undefined && found.mailbox.length > 0) return { status: 'busy' };
  const head = found?.log.length ?? 0;
  if (head !== expectedHead) return { status: 'conflict', head };
  const conversation = db.open(ref, agent);
  moveCalls(conversation, opens, closes);
  const to = appendToLog(conversation, db.copy(messages), db.now());
  if (head === 0 && firstPass !== undefined && conversation.pass === undefined)
    createPass(db, conversation, { ...firstPass, reasons: [] });
  conversation.operations.set(operation, { from: head + 1, to });
  restartIdleTtl(db, conversation);
  scheduleIdlePacking(db, conversation);
  return { status: 'appended', from: head + 1, to };
}
