import type { Redis } from 'ioredis';
import { type ContextSource, rangesToRead } from '../domain/context.ts';
import type { Acknowledged } from '../domain/durability.ts';
import type { ConversationRef } from '../domain/ids.ts';
import type { ContextReader, ContextStore } from '../domain/ports/context-store.ts';
import type { Sliced } from '../domain/sliced.ts';
import {
  checkHead,
  type SeqRange,
  START_VERSION,
  type Summary,
  shownKeys,
  summarySchema,
  type Version,
} from '../domain/version.ts';
import { eventLoopShare } from '../tokens/event-loop-share.ts';
import { decodeConversation } from './conversation-record.ts';
import type { Keyspace } from './keys.ts';
import { appendScript, bindReadLog } from './log.ts';
import { callStore, corruptRecord, MAX_SEQ, RecordFields, readJson } from './records.ts';
import { type ScriptDefinition, scriptBinder } from './script.ts';
import { readSystem } from './turn-steps.ts';
import { decodeVersion } from './version-record.ts';

/** Logs, versions and texts in Redis. */
export function openContextStore(redis: Redis, keyspace: Keyspace): ContextStore {
  const bind = scriptBinder(redis, keyspace);
  return {
    readConversation: async (conversation) => {
      const key = keyspace.key(conversation, 'c');
      const values = new Map(Object.entries(await callStore(() => redis.hgetall(key))));
      return values.size === 0 ? undefined : decodeConversation(new RecordFields(key, values));
    },
    readContext: bindReadContext(redis, keyspace),
    readLog: bindReadLog(redis, keyspace),
    readText: async (conversation, hash) =>
      (await callStore(() => redis.hget(keyspace.key(conversation, 'txt'), `x:${hash}`))) ?? undefined,
    readSystem: (conversation) => readSystem(redis, keyspace, conversation),
    append: bind(appendScript),
    listVersions: (conversation) => listVersionRecords(redis, keyspace, conversation),
    readVersion: (conversation, number) => readVersion(redis, keyspace, conversation, number),
    erase: bindErase(bind(eraseScript)),
  };
}

/** Head of the log and a version at one moment. */
interface VersionSnapshot {
  readonly head: number;
  readonly version: Version;
}

/**
 * Reads head and version together. The other parts of a context never change, so they are read afterwards. If an erase or
 * the drop of that version comes between, the context does not exist any more.
 */
export function bindReadContext(redis: Redis, keyspace: Keyspace): ContextReader['readContext'] {
  const readSnapshot = scriptBinder(redis, keyspace)(readVersionScript);
  const readLog = bindReadLog(redis, keyspace);
  return async (conversation, at = {}) => {
    const snapshot = await readSnapshot(conversation, at.version);
    if (snapshot === undefined) return undefined;
    const { version } = snapshot;
    const head = at.head ?? snapshot.head;
    checkHead(head, snapshot);
    const ranges = rangesToRead(version, head);
    const [entries, summaries] = await Promise.all([
      readLog(conversation, ranges),
      readSummaries(redis, keyspace.key(conversation, 'txt'), version),
    ]);
    const source: ContextSource = { version, head, entries, summaries };
    const expected = ranges.reduce((count, { from, to }) => count + to - from + 1, 0);
    if (entries.length < expected) {
      const again = await readSnapshot(conversation, version.number);
      if (again === undefined || again.head < head) return undefined;
      // The conversation was not erased meanwhile, and a log has no gaps.
      throw corruptRecord(keyspace.key(conversation, 'log'), findMissing(ranges, entries), 'an entry is missing');
    }
    const isWhole = shownKeys(version).every((key) => summaries.has(key));
    const isThere = isWhole || (await readSnapshot(conversation, version.number)) !== undefined;
    return isThere ? source : undefined;
  };
}

const readVersionScript: ScriptDefinition<
  [conversation: ConversationRef, version?: number],
  VersionSnapshot | undefined
> = {
  file: 'read-version',
  args: ([, version]) => [version ?? ''],
  decode: (reply, [conversation], keyspace) => {
    const found = reply as [number | null, number | null, string] | [];
    if (found.length === 0) return undefined;
    const [head, number, text] = found;
    const key = keyspace.key(conversation, 'c');
    if (!isSeq(head)) throw corruptRecord(key, 'head', 'it must be the number of a message');
    if (!isSeq(number)) throw corruptRecord(key, 'version', 'it must be the number of a version');
    if (number === START_VERSION.number) return { head, version: START_VERSION };
    if (text === '') return undefined;
    const place = { key: keyspace.key(conversation, 'ver'), field: String(number) };
    const version = decodeVersion(place, text);
    if (version.base > head) {
      throw corruptRecord(place.key, place.field, `its base ${version.base} is behind the end of the log (${head})`);
    }
    return { head, version };
  },
};

function isSeq(value: number | null): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= MAX_SEQ;
}

/** First seq of the ranges without an entry. */
function findMissing(ranges: readonly SeqRange[], { length }: readonly unknown[]): string {
  let left = length;
  for (const { from, to } of ranges) {
    if (left <= to - from) return String(from + left);
    left -= to - from + 1;
  }
  return '';
}

async function readSummaries(redis: Redis, key: string, version: Version): Promise<Map<string, Summary>> {
  const names = shownKeys(version);
  if (names.length === 0) return new Map();
  const texts = await callStore(() => redis.hmget(key, ...names.map((name) => `k:${name}`)));
  return new Map(
    names.flatMap((name, index): [string, Summary][] => {
      const text = texts[index] ?? null;
      return text === null ? [] : [[name, readJson({ key, field: `k:${name}` }, text, summarySchema)]];
    }),
  );
}

/** Kept versions, oldest first. Version 0 is never stored. */
async function listVersionRecords(redis: Redis, keyspace: Keyspace, conversation: ConversationRef): Promise<Version[]> {
  const key = keyspace.key(conversation, 'ver');
  const texts = Object.entries(await callStore(() => redis.hgetall(key)));
  const versions = await eventLoopShare.run(decodeInSlices(key, texts));
  return versions.toSorted((a, b) => a.number - b.number);
}

/** Yields after each version, because each of the 200 may have thousands of segments. */
function* decodeInSlices(key: string, texts: readonly (readonly [string, string])[]): Sliced<Version[]> {
  const versions: Version[] = [];
  for (const [field, text] of texts) {
    versions.push(decodeVersion({ key, field }, text));
    yield;
  }
  return versions;
}

async function readVersion(
  redis: Redis,
  keyspace: Keyspace,
  conversation: ConversationRef,
  number: number,
): Promise<Version | undefined> {
  const [key, field] = [keyspace.key(conversation, 'ver'), String(number)];
  const text = await callStore(() => redis.hget(key, field));
  return text === null ? undefined : decodeVersion({ key, field }, text);
}

/** Milliseconds during which writers to an erased conversation get `gone`. */
export const GONE_MS = 86_400_000;
/** Keys removed by one script, to keep its time short. */
export const ERASE_BATCH = 200;

interface EraseProgress {
  readonly removedKeys: number;
  readonly hasMore: boolean;
}

/**
 * Removes batch after batch, and stops if replicas do not confirm a batch. The next sweep, the next erase or a new accept
 * finishes an interrupted erase.
 */
export function bindErase(
  run: (conversation: ConversationRef, isFirst: boolean) => Promise<Acknowledged<EraseProgress>>,
): ContextStore['erase'] {
  return async (conversation) => {
    let progress = await run(conversation, true);
    let { removedKeys } = progress;
    while (progress.hasMore && progress.shortfall === undefined) {
      progress = await run(conversation, false);
      removedKeys = Math.max(removedKeys, progress.removedKeys);
    }
    const { shortfall } = progress;
    return { removedKeys, ...(shortfall !== undefined && { shortfall }) };
  };
}

/** Removes one batch of keys. */
export const eraseScript: ScriptDefinition<[conversation: ConversationRef, isFirst: boolean], EraseProgress> = {
  file: 'erase',
  args: ([, isFirst]) => [isFirst ? 1 : 0, ERASE_BATCH, GONE_MS],
  decode: (reply) => {
    const [removedKeys, more] = reply as [number, number];
    return { removedKeys, hasMore: more === 1 };
  },
};
