import type { Redis } from 'ioredis';
import type { z } from 'zod';
import { type ContextSource, rangesToRead } from '../domain/context-source.ts';
import type { ConversationState } from '../domain/conversation.ts';
import type { ConversationRef } from '../domain/ids.ts';
import type { Interruptible } from '../domain/interruptible.ts';
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
import { updateConversationScript } from './about.ts';
import { decodeConversation } from './conversation-record.ts';
import { bindErase, bindRestoreIndex, eraseScript } from './erase.ts';
import type { Keyspace } from './keys.ts';
import { appendScript } from './log.ts';
import { bindReadLog } from './log-pages.ts';
import { callStore, corruptRecord, MAX_SEQ, type Place, pairsOf, RecordFields, readRecordJson } from './records.ts';
import { type ScriptDefinition, scriptBinder } from './script.ts';
import { readOwn, readSystem } from './turn-steps.ts';
import { decodeVersion, WHOLE_PREFIX } from './version-record.ts';

function openContextReader(redis: Redis, keyspace: Keyspace) {
  return {
    readConversation: async (conversation: ConversationRef): Promise<ConversationState | undefined> => {
      const fields = await RecordFields.read(redis, keyspace.key(conversation, 'c'));
      return fields.isEmpty ? undefined : decodeConversation(fields);
    },
    readContext: bindReadContext(redis, keyspace),
    readLog: bindReadLog(redis, keyspace),
    readSystem: (conversation: ConversationRef) => readSystem(redis, keyspace, conversation),
    readOwn: (conversation: ConversationRef) => readOwn(redis, keyspace, conversation),
    readText: async (conversation: ConversationRef, hash: string): Promise<string | undefined> =>
      (await readWhole(redis, keyspace.key(conversation, 'txt'), hash)).text,
  };
}

export type ContextReader = ReturnType<typeof openContextReader>;

export function openContextStore(redis: Redis, keyspace: Keyspace) {
  const bind = scriptBinder(redis, keyspace);
  return {
    ...openContextReader(redis, keyspace),
    append: bind(appendScript),
    updateConversation: bind(updateConversationScript),
    /** Lists versions, oldest first. Version 0, which is the whole log, is never stored. */
    listVersions: async (conversation: ConversationRef): Promise<Version[]> => {
      const key = keyspace.key(conversation, 'ver');
      const texts = Object.entries(await callStore(() => redis.hgetall(key)));
      const versions = await eventLoopShare.run(decodeInSlices(key, texts));
      return versions.toSorted((a, b) => a.number - b.number);
    },
    readVersion: async (conversation: ConversationRef, number: number): Promise<Version | undefined> => {
      const place = { key: keyspace.key(conversation, 'ver'), field: String(number) };
      const text = await callStore(() => redis.hget(place.key, place.field));
      return text === null ? undefined : decodeVersion(place, text);
    },
    /** Reads the summaries that a version shows, by summary key. A summary whose text is lost is left out. */
    readShownSummaries: (conversation: ConversationRef, version: Version) =>
      readSummaries(redis, keyspace.key(conversation, 'txt'), version),
    /**
     * Reads a list of the agent, such as its tools, by the hash of its JSON. Empty if the text is lost.
     * @throws corrupt_record
     */
    readAgentList: async <Item>(
      conversation: ConversationRef,
      hash: string,
      schema: z.ZodType<Item[]>,
    ): Promise<Item[]> => {
      const { place, text } = await readWhole(redis, keyspace.key(conversation, 'txt'), hash);
      return text === undefined ? [] : readRecordJson(place, text, schema);
    },
    erase: bindErase(bind(eraseScript), bindRestoreIndex(redis, keyspace)),
  };
}

async function readWhole(redis: Redis, key: string, hash: string): Promise<{ place: Place; text: string | undefined }> {
  const field = `${WHOLE_PREFIX}${hash}`;
  return { place: { key, field }, text: (await callStore(() => redis.hget(key, field))) ?? undefined };
}

interface VersionSnapshot extends Pick<ContextSource, 'inputs'> {
  readonly head: number;
  readonly version: Version;
}

export type ContextStore = ReturnType<typeof openContextStore>;

/**
 * Reads a context. By default this is the live version with the whole log. The caller can choose an older version, or
 * an earlier end of the log. Undefined if the conversation or the version does not exist.
 *
 * Only the last seq and the version are read at one moment. Other parts of a context never change, so they are read
 * afterwards, without a script. If the live version was replaced and dropped meanwhile, the new live version is read.
 */
export function bindReadContext(
  redis: Redis,
  keyspace: Keyspace,
): (
  conversation: ConversationRef,
  at?: { readonly version?: number | undefined; readonly head?: number | undefined },
) => Promise<ContextSource | undefined> {
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
      // The version still exists, so no erase removed the missing entry. A log has no gaps, so this log is corrupt.
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
  args: ([, wanted]) => ({ wanted }),
  decode: (reply, [conversation, wanted], keyspace) => {
    const found = reply as [number | null, number | null, string, string[]] | [];
    if (found.length === 0) return undefined;
    const [head, number, text, turns] = found;
    const key = keyspace.key(conversation, 'c');
    if (!isSeq(head)) throw corruptRecord(key, 'head', 'the value must be the number of a message');
    if (!isSeq(number)) {
      // The caller asked for a version that no conversation can have.
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

function readInputs(turns: readonly string[], keyOf: (turn: string) => string): number[] {
  return pairsOf(turns).map(([turn, text]) => {
    const seq = Number(text);
    if (!isSeq(seq)) throw corruptRecord(keyOf(turn), 'inputSeq', 'the value must be the number of a message');
    return seq;
  });
}

function isSeq(value: number | null): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= MAX_SEQ;
}

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
      return text === null ? [] : [[name, readRecordJson({ key, field: `k:${name}` }, text, summarySchema)]];
    }),
  );
}

/** Decodes versions, and yields after each. There may be 200 versions, with thousands of segments each. */
function* decodeInSlices(key: string, texts: readonly (readonly [string, string])[]): Interruptible<Version[]> {
  const versions: Version[] = [];
  for (const [field, text] of texts) {
    versions.push(decodeVersion({ key, field }, text));
    yield;
  }
  return versions;
}
