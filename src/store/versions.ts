import type { Redis } from 'ioredis';
import { PASS_LIMITS } from '../domain/pass.ts';
import { FORK_LEASE_MS, type ForkLost, type ForkPlan, type VersionStore } from '../domain/ports/version-store.ts';
import { checkNumber, type Summary, summarySchema } from '../domain/version.ts';
import { decodeForking, encodeBackoff, encodeOpenCall, type ForkingReply } from './conversation-record.ts';
import { type Keyspace, SCHEMAS } from './keys.ts';
import { encodeLogEntry } from './log.ts';
import { callStore, corruptRecord, MAX_SEQ, readJson } from './records.ts';
import { encodePairs, OPERATION_MS, type ScriptOf, scriptBinder } from './script.ts';
import { encodeTexts, SUMMARY_PREFIX, shownTexts, versionArgs, WHOLE_PREFIX } from './version-record.ts';

/** Opens the operations of services on context versions in Redis. Every write is one script on one conversation. */
export function openVersionStore(redis: Redis, keyspace: Keyspace): VersionStore {
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

type ReplaceReply =
  | ['replaced' | 'known', number, string]
  | ['changed', number, number]
  | ForkingReply
  | ['busy' | 'text_gone' | 'not_found' | 'gone' | 'other_payload'];

export const replaceVersionScript: ScriptOf<VersionStore['replaceVersion']> = {
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

const startIdleTtlScript: ScriptOf<VersionStore['startIdleTtl']> = {
  file: 'start-idle-ttl',
  args: () => [],
  decode: () => undefined,
};

/**
 * Name of a conversation's agent while a fork is being copied. Real names contain no space, so no agent has this name.
 */
const NOBODY = 'nobody yet';

type BeginForkReply = ['copying' | 'done', number, string] | ['exists'] | ['other_payload'] | ForkingReply;

export const beginForkScript: ScriptOf<VersionStore['beginFork']> = {
  file: 'begin-fork',
  args: ([{ operation, agent, plan, conversationTtl = '' }]) => [
    operation,
    SCHEMAS.current,
    agent,
    NOBODY,
    encodePlan(plan),
    FORK_LEASE_MS,
    conversationTtl,
  ],
  decode: (reply, [{ conversation }], keyspace) => {
    const answer = reply as BeginForkReply;
    if (answer[0] === 'forking') return decodeForking(answer);
    if (answer[0] === 'exists' || answer[0] === 'other_payload') return { status: answer[0] };
    const [status, copied, text] = answer;
    const plan = decodePlan(text, keyspace.key(conversation, 'c'));
    return status === 'done' ? { status, plan } : { status, copied, plan };
  },
};

function encodePlan({ source, version, head }: ForkPlan): string {
  return [version, head, source.tenant, source.id].join(' ');
}

function decodePlan(text: string, key: string): ForkPlan {
  const [, version, head, tenant = '', id = ''] = PLAN.exec(text) ?? [];
  if (version === undefined || Number(head) > MAX_SEQ)
    throw corruptRecord(key, 'forking', 'the value is not a valid plan of a fork');
  return { source: { tenant, id }, version: Number(version), head: Number(head) };
}

/** Parses the plan of a fork: version, last seq, tenant and id of the source. */
const PLAN = /^(\d{1,15}) (\d{1,15}) (\S+) (\S+)$/;

const copyToForkScript: ScriptOf<VersionStore['copyToFork']> = {
  file: 'copy-to-fork',
  args: ([, operation, { expectedHead, texts, opens, closes, entries }]) => [
    operation,
    FORK_LEASE_MS,
    expectedHead,
    ...encodePairs(encodeTexts(texts)),
    entries.length,
    ...entries.flatMap((entry) => [entry.message.role === 'user' ? 1 : 0, encodeLogEntry(entry)]),
    opens.length,
    ...opens.map(encodeOpenCall),
    closes.length,
    ...closes,
  ],
  decode: (reply) => {
    const answer = reply as ['copied', number] | [ForkLost['status']];
    return answer[0] === 'copied' ? { status: 'copied', head: answer[1] } : { status: answer[0] };
  },
};

export const endForkScript: ScriptOf<VersionStore['endFork']> = {
  file: 'end-fork',
  args: ([, operation, version]) => [
    operation,
    ...shownTexts(version),
    ...versionArgs(version, PASS_LIMITS.keepVersions),
  ],
  decode: (reply) => {
    const answer = reply as ['incomplete', number] | ['done' | ForkLost['status']];
    return answer[0] === 'incomplete' ? { status: 'incomplete', head: answer[1] } : { status: answer[0] };
  },
};

/** Approximate number of texts that one HSCAN command reads. Each text may be as large as a message. */
const BATCH = 10;

/** Reads texts without a script, because a text never changes. Other fields of `txt:` are skipped. */
function bindReadTexts(redis: Redis, keyspace: Keyspace): VersionStore['readTexts'] {
  return async (conversation, cursor) => {
    const key = keyspace.key(conversation, 'txt');
    const [next, flat] = await callStore(() => redis.hscan(key, cursor, 'COUNT', BATCH));
    const summaries = new Map<string, Summary>();
    const byHash = new Map<string, string>();
    for (let index = 0; index + 1 < flat.length; index += 2) {
      const [field, text] = flat.slice(index, index + 2) as [string, string];
      const name = field.slice(SUMMARY_PREFIX.length);
      if (field.startsWith(SUMMARY_PREFIX)) summaries.set(name, readJson({ key, field }, text, summarySchema));
      if (field.startsWith(WHOLE_PREFIX)) byHash.set(name, text);
    }
    return { summaries, byHash, next };
  };
}
