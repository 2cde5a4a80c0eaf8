import type { Redis } from 'ioredis';
import type { Backoff } from '../domain/conversation.ts';
import type { Acknowledged } from '../domain/durability.ts';
import type { ConversationRef } from '../domain/ids.ts';
import { checkNumber, type Summary, summarySchema, type Version } from '../domain/version.ts';
import { encodeBackoff, type Forking, readForking } from './conversation-record.ts';
import { beginForkScript, bindIsForkAbandoned, copyToForkScript, endForkScript } from './forks.ts';
import type { Keyspace } from './keys.ts';
import { callStore, pairsOf, readRecordJson } from './records.ts';
import { decodeReply, OPERATION_MS, type OtherPayload, type ScriptDefinition, scriptBinder } from './script.ts';
import { type KeptTexts, SUMMARY_PREFIX, shownTexts, versionArgs, WHOLE_PREFIX } from './version-record.ts';

/** Restores and forks. No call writes two conversations, because these may be on different Redis Cluster nodes. */
export function openVersionStore(redis: Redis, keyspace: Keyspace) {
  const bind = scriptBinder(redis, keyspace);
  return {
    replaceVersion: bind(replaceVersionScript),
    startIdleTtl: bind(startIdleTtlScript),
    readTexts: bindReadTexts(redis, keyspace),
    beginFork: bind(beginForkScript),
    copyToFork: bind(copyToForkScript),
    endFork: bind(endForkScript),
    isForkAbandoned: bindIsForkAbandoned(redis, keyspace),
  };
}

export type VersionStore = ReturnType<typeof openVersionStore>;

export type VersionReplacementResult =
  | { readonly status: 'replaced'; readonly version: number; readonly wakeTurn?: string }
  | { readonly status: 'known'; readonly version: number; readonly wakeTurn?: string }
  | { readonly status: 'changed'; readonly version: number; readonly head: number }
  /** A turn is running, or a turn or call waits and the version would remove its messages. */
  | { readonly status: 'busy' }
  | { readonly status: 'text_gone' }
  | { readonly status: 'not_found' | 'gone' }
  | OtherPayload
  | Forking;

export interface VersionReplacement {
  readonly conversation: ConversationRef;
  /** Name of the operation, see `nameOperation`. A repeated name writes nothing and gets the first answer (I5). */
  readonly operation: string;
  /**
   * Live version when the new version was made. If version or log have changed since, nothing is written: `changed`.
   */
  readonly expectedVersion: number;
  readonly expectedHead: number;
  readonly version: Version;
  readonly backoff: Backoff;
  /** True if the version keeps all messages of a waiting turn and of open calls, so that they may continue. */
  readonly keepsNewer: boolean;
  readonly wakeTurn: string;
  /** Number of older versions to keep besides restore points. */
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
    return {
      operation,
      operationMs: OPERATION_MS,
      expected: expectedVersion,
      expectedHead,
      keepsNewer,
      backoff: encodeBackoff(backoff),
      wake: wakeTurn,
      rest: [...shownTexts(version), ...versionArgs(version, keepVersions)],
    };
  },
  decode: (reply) =>
    decodeReply<VersionReplacementResult>(reply, {
      replaced: readReplaced,
      known: readReplaced,
      changed: (version: number, head: number) => ({ version, head }),
      forking: readForking,
    }),
};

function readReplaced(version: number, wakeTurn: string) {
  return { version, ...(wakeTurn !== '' && { wakeTurn }) };
}

const startIdleTtlScript: ScriptDefinition<[conversation: ConversationRef], void> = {
  file: 'start-idle-ttl',
  decode: () => undefined,
};

/** Approximate number of texts that one HSCAN reads. Each text may be as large as a message. */
const BATCH = 10;

/** Reads begin with the cursor `0`, and end when `next` is `0`. A text never changes, so no script is needed. */
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
