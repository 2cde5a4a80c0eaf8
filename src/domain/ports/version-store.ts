import type { Backoff } from '../conversation.ts';
import type { Acknowledged } from '../durability.ts';
import type { OpenCall } from '../history.ts';
import type { ConversationRef } from '../ids.ts';
import type { LogEntry } from '../message.ts';
import type { IdleTtl } from '../policy.ts';
import type { Summary, Version } from '../version.ts';

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

/** The id of the operation was used before with another payload. Nothing was written. */
export interface OtherPayload {
  readonly status: 'other_payload';
}

/** A fork is copying messages into this conversation. Nothing else is accepted until the copy ends. */
export interface Forking {
  readonly status: 'forking';
  /** True if the fork has stopped renewing its lease. Its operation may continue, or another fork may start again. */
  readonly isAbandoned: boolean;
}

/** Source of a fork: a context version of a conversation, and its log up to `head`. Fixed when the fork begins. */
export interface ForkPlan {
  readonly source: ConversationRef;
  readonly version: number;
  readonly head: number;
}

/** First write of a fork, which creates the new conversation. */
export interface ForkBegin extends IdleTtl {
  readonly conversation: ConversationRef;
  /** Name of the operation, see `nameOperation`. */
  readonly operation: string;
  readonly agent: string;
  readonly plan: ForkPlan;
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

/**
 * Texts stored beside a log. `summaries`: texts of summaries, by key. `whole`: texts by hash, which are the full texts
 * of clipped messages and the system prompts, tools and pinned texts of versions.
 */
export interface KeptTexts {
  readonly summaries: ReadonlyMap<string, Summary>;
  readonly byHash: ReadonlyMap<string, string>;
}

/** The fork has already ended, or its conversation was erased. */
export type ForkLost = { readonly status: 'superseded' | 'gone' };

export type ForkEndResult =
  | { readonly status: 'done' }
  /**
   * A failover lost some copied entries: the log ends at `head` instead of where the plan ends. Nothing was written.
   */
  | { readonly status: 'incomplete'; readonly head: number }
  | ForkLost;

/**
 * Restores older context versions and forks conversations, for client calls. No call writes two conversations, because
 * they may be on different Redis Cluster nodes.
 */
export interface VersionStore {
  replaceVersion(replacement: VersionReplacement): Promise<Acknowledged<VersionReplacementResult>>;
  /**
   * Restarts the idle TTL, so that the conversation is not erased during a long read. Does nothing without an idle TTL.
   */
  startIdleTtl(conversation: ConversationRef): Promise<void>;
  /** Reads some texts from `cursor` on. Start with `0`. When `next` is `0`, all texts have been read. */
  readTexts(conversation: ConversationRef, cursor: string): Promise<KeptTexts & { readonly next: string }>;
  /**
   * Creates the conversation. Until the fork ends, it accepts only this fork's batches. The new fork may replace a fork
   * that another operation abandoned. This call and each batch renew the fork's lease.
   */
  beginFork(begin: ForkBegin): Promise<Acknowledged<ForkBeginResult>>;
  copyToFork(
    conversation: ConversationRef,
    operation: string,
    batch: ForkBatch,
  ): Promise<{ readonly status: 'copied'; readonly head: number } | ForkLost>;
  /** Stores the first version and opens the conversation for other calls. A repeated call returns the same answer. */
  endFork(conversation: ConversationRef, operation: string, version: Version): Promise<Acknowledged<ForkEndResult>>;
}

/** Lease of a fork in ms, renewed by each batch. A client gives up a batch after less than a second. */
export const FORK_LEASE_MS = 60_000;
