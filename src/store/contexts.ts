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
import { eventLoopShare } from '../wire/tokens/event-loop-share.ts';
import { decodeConversation } from './conversation-record.ts';
import type { Keyspace } from './keys.ts';
import { appendScript } from './log.ts';
import { bindReadLog } from './log-pages.ts';
import { callStore, corruptRecord, MAX_SEQ, type Place, RecordFields, readJson } from './records.ts';
import { bindRestoreIndex } from './restore-index.ts';
import { type ScriptDefinition, scriptBinder } from './script.ts';
import { readSystem } from './turn-steps.ts';
import { decodeVersion, WHOLE_PREFIX } from './version-record.ts';

/** Opens the store of logs, context versions and texts in Redis. */
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
    readText: async (conversation, hash) => (await readWhole(redis, keyspace.key(conversation, 'txt'), hash)).text,
    readAgentList: async (conversation, hash, schema) => {
      const { place, text } = await readWhole(redis, keyspace.key(conversation, 'txt'), hash);
      return text === undefined ? [] : readJson(place, text, schema);
    },
    readSystem: (conversation) => readSystem(redis, keyspace, conversation),
    append: bind(appendScript),
    listVersions: (conversation) => listVersionRecords(redis, keyspace, conversation),
    readVersion: (conversation, number) => readVersion(redis, keyspace, conversation, number),
    readShownSummaries: (conversation, version) => readSummaries(redis, keyspace.key(conversation, 'txt'), version),
    erase: bindErase(bind(eraseScript), bindRestoreIndex(redis, keyspace)),
  };
}

async function readWhole(redis: Redis, key: string, hash: string): Promise<{ place: Place; text: string | undefined }> {
  const field = `${WHOLE_PREFIX}${hash}`;
  return { place: { key, field }, text: (await callStore(() => redis.hget(key, field))) ?? undefined };
}

/** Last seq of the log, one context version and the inputs of the running turn, read at the same moment. */
interface VersionSnapshot extends Pick<ContextSource, 'inputs'> {
  readonly head: number;
  readonly version: Version;
}

/**
 * Makes the function that reads a context. The function reads the last seq and the version together. The other parts of
 * a context never change, so they are read afterwards. If the live version was replaced and dropped in between, the
 * function reads the next one. So an undefined context of the live version means that the conversation is gone.
 */
export function bindReadContext(redis: Redis, keyspace: Keyspace): ContextReader['readContext'] {
  const readSnapshot = scriptBinder(redis, keyspace)(readVersionScript);
  const readLog = bindReadLog(redis, keyspace);
  return async (conversation, at = {}) => {
    for (;;) {
      const snapshot = await readSnapshot(conversation, at.version);
      const source = snapshot && (await readSource(conversation, snapshot, at.head));
      if (snapshot === undefined || source !== undefined || at.version !== undefined) return source;
    }
  };

  async function readSource(
    conversation: ConversationRef,
    snapshot: VersionSnapshot,
    head = snapshot.head,
  ): Promise<ContextSource | undefined> {
    const { version, inputs } = snapshot;
    checkHead(head, snapshot);
    const ranges = rangesToRead(version, head);
    const [entries, summaries] = await Promise.all([
      readLog(conversation, ranges),
      readSummaries(redis, keyspace.key(conversation, 'txt'), version),
    ]);
    const source: ContextSource = { version, head, entries, summaries, ...(inputs && { inputs }) };
    const expected = ranges.reduce((count, { from, to }) => count + to - from + 1, 0);
    if (entries.length < expected) {
      const again = await readSnapshot(conversation, version.number);
      if (again === undefined || again.head < head) return undefined;
      // The version still exists after this read, so no erase happened. A log has no gaps, so the missing entry is a
      // corrupt record.
      throw corruptRecord(
        keyspace.key(conversation, 'log'),
        findMissing(ranges, entries),
        'the log has no entry with this number',
      );
    }
    const isWhole = shownKeys(version).every((key) => summaries.has(key));
    const isThere = isWhole || (await readSnapshot(conversation, version.number)) !== undefined;
    return isThere ? source : undefined;
  }
}

const readVersionScript: ScriptDefinition<
  [conversation: ConversationRef, version?: number],
  VersionSnapshot | undefined
> = {
  file: 'read-version',
  args: ([, version]) => [version ?? ''],
  decode: (reply, [conversation, wanted], keyspace) => {
    const found = reply as [number | null, number | null, string, string[]] | [];
    if (found.length === 0) return undefined;
    const [head, number, text, turns] = found;
    const key = keyspace.key(conversation, 'c');
    if (!isSeq(head)) throw corruptRecord(key, 'head', 'the value must be the number of a message');
    if (!isSeq(number)) {
      // No conversation has such a version, so a caller who asks for one gets none.
      if (wanted !== undefined) return undefined;
      throw corruptRecord(key, 'version', 'the value must be the number of a version');
    }
    const inputs = readInputs(turns, (turn) => keyspace.turn(conversation, turn));
    const read = { head, ...(inputs.length > 0 && { inputs }) };
    if (number === START_VERSION.number) return { ...read, version: START_VERSION };
    const place = { key: keyspace.key(conversation, 'ver'), field: String(number) };
    if (text === '' && wanted === undefined) throw corruptRecord(place.key, place.field, 'the live version is missing');
    if (text === '') return undefined;
    const version = decodeVersion(place, text);
    if (version.base > head) {
      throw corruptRecord(
        place.key,
        place.field,
        `the version ends at message ${version.base}, but the log has only ${head} messages`,
      );
    }
    return { ...read, version };
  },
};

/** @param turns each turn, with the seq of its user message */
function readInputs(turns: readonly string[], keyOf: (turn: string) => string): number[] {
  return turns.flatMap((turn, at) => {
    if (at % 2 === 1) return [];
    const seq = Number(turns[at + 1]);
    if (!isSeq(seq)) throw corruptRecord(keyOf(turn), 'inputSeq', 'the value must be the number of a message');
    return [seq];
  });
}

function isSeq(value: number | null): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= MAX_SEQ;
}

/** Returns the first seq in the ranges that has no entry. */
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

/**
 * Reads all kept context versions of a conversation, oldest first. Version 0, which is the whole log, is never stored.
 */
async function listVersionRecords(redis: Redis, keyspace: Keyspace, conversation: ConversationRef): Promise<Version[]> {
  const key = keyspace.key(conversation, 'ver');
  const texts = Object.entries(await callStore(() => redis.hgetall(key)));
  const versions = await eventLoopShare.run(decodeInSlices(key, texts));
  return versions.toSorted((a, b) => a.number - b.number);
}

/**
 * Decodes versions and yields after each, so that other work can run. There may be 200 versions with thousands of
 * segments each.
 */
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

/** Milliseconds during which a write to an erased conversation is answered with `gone`. */
export const GONE_MS = 86_400_000;
/** Maximum keys that one script call removes, so that the script does not block Redis for long. */
export const ERASE_BATCH = 200;

const LEFT = ['nothing', 'keys', 'unlisted', 'not_begun'] as const;

interface EraseProgress {
  readonly removedKeys: number;
  /** `unlisted`: the index does not name the keys that are left. `not_begun`: nor did this call remove any key. */
  readonly left: (typeof LEFT)[number];
}

type EraseStep = [conversation: ConversationRef, isFirst: boolean, isRestored: boolean];

/**
 * Makes the function that erases a conversation. The function removes one batch of keys after the other, and stops if
 * replicas do not confirm a batch. The next sweep, the next erase or a new accept finishes an interrupted erase. An index
 * that does not name all keys is restored first, so that an erase never leaves keys behind.
 * @param restoreIndex searches Redis for the keys of the conversation
 */
export function bindErase(
  run: (...step: EraseStep) => Promise<Acknowledged<EraseProgress>>,
  restoreIndex: (conversation: ConversationRef) => Promise<void>,
): ContextStore['erase'] {
  return async (conversation) => {
    let progress = await run(conversation, true, false);
    let { removedKeys } = progress;
    while (progress.left !== 'nothing' && progress.shortfall === undefined) {
      const isRestored = progress.left !== 'keys';
      if (isRestored) await restoreIndex(conversation);
      progress = await run(conversation, progress.left === 'not_begun', isRestored);
      removedKeys = Math.max(removedKeys, progress.removedKeys);
    }
    const { shortfall } = progress;
    return { removedKeys, ...(shortfall !== undefined && { shortfall }) };
  };
}

/** Script that removes one batch of keys of an erased conversation. */
export const eraseScript: ScriptDefinition<EraseStep, EraseProgress> = {
  file: 'erase',
  args: ([, isFirst, isRestored]) => [isFirst ? 1 : 0, ERASE_BATCH, GONE_MS, isRestored ? 1 : 0],
  decode: (reply) => {
    const [removedKeys, left] = reply as [number, number];
    return { removedKeys, left: LEFT[left] ?? 'nothing' };
  },
};
