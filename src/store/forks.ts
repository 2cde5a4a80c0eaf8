import type { Acknowledged } from '../domain/durability.ts';
import type { OpenCall } from '../domain/history.ts';
import type { ConversationRef } from '../domain/ids.ts';
import type { LogEntry } from '../domain/message.ts';
import { PASS_LIMITS } from '../domain/pass.ts';
import type { IdleTtl } from '../domain/policy.ts';
import type { Version } from '../domain/version.ts';
import { decodeForking, encodeOpenCall, type Forking, type ForkingReply } from './conversation-record.ts';
import { SCHEMAS } from './keys.ts';
import { encodeLogEntry } from './log.ts';
import { corruptRecord, MAX_SEQ } from './records.ts';
import { encodePairs, type OtherPayload, type ScriptDefinition } from './script.ts';
import { encodeTexts, type KeptTexts, shownTexts, versionArgs } from './version-record.ts';

/**
 * Name of a conversation's agent while a fork is being copied. Real names contain no space, so no agent has this name.
 */
const NOBODY = 'nobody yet';

type BeginForkReply = ['copying' | 'done', number, string] | ['exists'] | ['other_payload'] | ForkingReply;

/** Lease of a fork in ms, renewed by each batch. A client gives up a batch after less than a second. */
export const FORK_LEASE_MS = 60_000;

/** Source of a fork: a context version of a conversation, and its log up to `head`. Fixed when the fork begins. */
export interface ForkPlan {
  readonly source: ConversationRef;
  readonly version: number;
  readonly head: number;
}

export type ForkBeginResult =
  /** The fork continues after `copied` log entries. `plan` is the plan stored when the fork first began. */
  | { readonly status: 'copying'; readonly copied: number; readonly plan: ForkPlan }
  | { readonly status: 'done'; readonly plan: ForkPlan }
  /** A conversation with this id exists, and this operation did not create it. */
  | { readonly status: 'exists' }
  | OtherPayload
  /** Another operation is creating the conversation. */
  | Forking;

/** First write of a fork, which creates the new conversation. */
export interface ForkBegin extends IdleTtl {
  readonly conversation: ConversationRef;
  /** Name of the operation, see `nameOperation`. */
  readonly operation: string;
  readonly agent: string;
  readonly plan: ForkPlan;
}

/**
 * Creates the conversation. Until the fork ends, it accepts only this fork's batches. The new fork may replace a fork
 * that another operation abandoned. This call and each batch renew the fork's lease.
 */
export const beginForkScript: ScriptDefinition<[begin: ForkBegin], Acknowledged<ForkBeginResult>> = {
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

/** The fork has already ended, or its conversation was erased. */
export type ForkLost = { readonly status: 'superseded' | 'gone' };

/** Log entries to copy with their tool calls, and texts in any order. */
export interface ForkBatch {
  /**
   * Number of entries that were copied already. If the log has another length, nothing is written and the answer is its
   * length.
   */
  readonly expectedHead: number;
  readonly entries: readonly LogEntry[];
  /** Tool calls that have no result after these entries, and ids of earlier calls that the entries answer. */
  readonly opens: readonly OpenCall[];
  readonly closes: readonly string[];
  readonly texts: KeptTexts;
}

export const copyToForkScript: ScriptDefinition<
  [conversation: ConversationRef, operation: string, batch: ForkBatch],
  { readonly status: 'copied'; readonly head: number } | ForkLost
> = {
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

export type ForkEndResult =
  | { readonly status: 'done' }
  /**
   * A failover lost some copied entries: the log ends at `head` instead of where the plan ends. Nothing was written.
   */
  | { readonly status: 'incomplete'; readonly head: number }
  | ForkLost;

/** Stores the first version and opens the conversation for other calls. A repeated call returns the same answer. */
export const endForkScript: ScriptDefinition<
  [conversation: ConversationRef, operation: string, version: Version],
  Acknowledged<ForkEndResult>
> = {
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
