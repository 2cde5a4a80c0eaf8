import type { Redis } from 'ioredis';
import type { Backoff } from '../domain/conversation.ts';
import type { Acknowledged } from '../domain/durability.ts';
import type { ConversationRef } from '../domain/ids.ts';
import { checkNumber, type Summary, summarySchema, type Version } from '../domain/version.ts';
import { decodeForking, encodeBackoff, type Forking, type ForkingReply } from './conversation-record.ts';
import { beginForkScript, copyToForkScript, endForkScript } from './forks.ts';
import type { Keyspace } from './keys.ts';
import { callStore, pairsOf, readRecordJson } from './records.ts';
import { OPERATION_MS, type OtherPayload, type ScriptDefinition, scriptBinder } from './script.ts';
import { type KeptTexts, SUMMARY_PREFIX, shownTexts, versionArgs, WHOLE_PREFIX } from './version-record.ts';

/**
 * Opens the operations of services on context versions in Redis: restores and forks. Every write is one script. No call writes two
 * conversations, because they may be on different Redis Cluster nodes.
 */
export function openVersionStore(redis: Redis, keyspace: Keyspace) {
  const bind = scriptBinder(redis, keyspace);
  return {
    replaceVersion: bind(replaceVersionScript),
    startIdleTtl: bind(startIdleTtlScript),
    readTexts: bindReadTexts(redis, keyspace),
    beginFork: bind(beginForkScript),
    copyToFork: bind(copyToForkScript),
    endFork: bind(endForkScript),
  };
}

export type VersionStore = ReturnType<typeof openVersionStore>;

type ReplaceReply =
  | ['replaced' | 'known', number, string]
  | ['changed', number, number]
  | ForkingReply
  | ['busy' | 'text_gone' | 'not_found' | 'gone' | 'other_payload'];

export type VersionReplacementResult =
  | { readonly status: 'replaced'; readonly version: number; readonly wakeTurn?: string }
  | { readonly status: 'known'; readonly version: number; readonly wakeTurn?: string }
  | { readonly status: 'changed'; readonly version: number; readonly head: number }
  /** A turn is running. Or a turn or tool call is waiting, and the version would remove its messages. */
  | { readonly status: 'busy' }
  /** The text of one of the version's summaries is lost. */
  | { readonly status: 'text_gone' }
  | { readonly status: 'not_found' | 'gone' }
  | OtherPayload
  | Forking;

/** A context version that a caller requested, by restoring an older one or rolling back a turn. */
export interface VersionReplacement {
  readonly conversation: ConversationRef;
  /** Name of the operation, see `nameOperation`. A repeated name writes nothing and gets the first answer (invariant I5). */
  readonly operation: string;
  /**
   * Current version when the new one was made. If the version or the log has changed since, nothing is written and the
   * answer is `changed`.
   */
  readonly expectedVersion: number;
  readonly expectedHead: number;
  readonly version: Version;
  /** Context sizes that stop soft compaction until the context has grown. */
  readonly backoff: Backoff;
  /**
   * True if the new version keeps all messages of a waiting turn and of unanswered tool calls, so that these may
   * continue.
   */
  readonly keepsNewer: boolean;
  /** Id of a queue job, stored and returned if a turn waited for the compaction pass that this write ends. */
  readonly wakeTurn: string;
  /** Number of older versions to keep, in addition to restore points. */
  readonly keepVersions: number;
}

export const replaceVersionScript: ScriptDefinition<
  [replacement: VersionReplacement],
  Acknowledged<VersionReplacementResult>
> = {
  file: 'replace-version',
  args: ([replacement]) => {
    checkNumber(replacement);
    const { operation, expectedVersion, expectedHead, version, backoff, keepsNewer, wakeTurn, keepVersions } =
      replacement;
    return [
      operation,
      OPERATION_MS,
      expectedVersion,
      expectedHead,
      keepsNewer ? 1 : 0,
      encodeBackoff(backoff),
      wakeTurn,
      ...shownTexts(version),
      ...versionArgs(version, keepVersions),
    ];
  },
  decode: (reply) => {
    const answer = reply as ReplaceReply;
    switch (answer[0]) {
      case 'replaced':
      case 'known':
        return { status: answer[0], version: answer[1], ...(answer[2] !== '' && { wakeTurn: answer[2] }) };
      case 'changed':
        return { status: 'changed', version: answer[1], head: answer[2] };
      case 'forking':
        return decodeForking(answer);
      default:
        return { status: answer[0] };
    }
  },
};

/**
 * Restarts the idle TTL, so that the conversation is not erased during a long read. Does nothing without an idle TTL.
 */
const startIdleTtlScript: ScriptDefinition<[conversation: ConversationRef], void> = {
  file: 'start-idle-ttl',
  args: () => [],
  decode: () => undefined,
};

/** Approximate number of texts that one HSCAN command reads. Each text may be as large as a message. */
const BATCH = 10;

/**
 * Makes the function that reads some texts from `cursor` on. Start with `0`. When `next` is `0`, all texts have been read.
 * No script is needed, because a text never changes. Other fields of `txt:` are skipped.
 */
function bindReadTexts(
  redis: Redis,
  keyspace: Keyspace,
): (conversation: ConversationRef, cursor: string) => Promise<KeptTexts & { readonly next: string }> {
  return async (conversation, cursor) => {
    const key = keyspace.key(conversation, 'txt');
    const [next, flat] = await callStore(() => redis.hscan(key, cursor, 'COUNT', BATCH));
    const summaries = new Map<string, Summary>();
    const byHash = new Map<string, string>();
    for (const [field, text] of pairsOf(flat)) {
      const name = field.slice(SUMMARY_PREFIX.length);
      if (field.startsWith(SUMMARY_PREFIX)) summaries.set(name, readRecordJson({ key, field }, text, summarySchema));
      if (field.startsWith(WHOLE_PREFIX)) byHash.set(name, text);
    }
    return { summaries, byHash, next };
  };
}
