import type { Backoff } from '../conversation.ts';
import type { Acknowledged } from '../durability.ts';
import type { OpenCall } from '../history.ts';
import type { ConversationRef } from '../ids.ts';
import type { LogEntry } from '../message.ts';
import type { IdleTtl } from '../policy.ts';
import type { Summary, Version } from '../version.ts';

/** A version that a caller requested: a restore, or the rollback of a turn. */
export interface VersionReplacement {
  readonly conversation: ConversationRef;
  /** Operation id. A repeated id changes nothing and returns the same answer (I5). */
  readonly operation: string;
  /**
   * Live version under which this one was made. If version or head differ, the answer is `changed` and nothing is
   * written.
   */
  readonly expectedVersion: number;
  readonly expectedHead: number;
  readonly version: Version;
  /** Backoff that stops soft passes until the context has grown. */
  readonly backoff: Backoff;
  /** True if the version removes no message of a waiting turn or of open calls. These may then continue. */
  readonly keepsNewer: boolean;
  /** Id of a turn wake. It is recorded and answered if a turn waited for the pass that this ends. */
  readonly wakeTurn: string;
  /** Versions that are kept besides restore points. */
  readonly keepVersions: number;
}

export type VersionReplacementResult =
  | { readonly status: 'replaced'; readonly version: number; readonly wakeTurn?: string }
  | { readonly status: 'known'; readonly version: number; readonly wakeTurn?: string }
  | { readonly status: 'changed'; readonly version: number; readonly head: number }
  /** A turn runs. Or a turn waits or calls are open, and the version would remove their messages. */
  | { readonly status: 'busy' }
  /** A summary of the version has lost its text. */
  | { readonly status: 'text_gone' }
  | { readonly status: 'not_found' | 'gone' }
  | Forking;

/** The conversation is being copied and accepts nothing else until the copy ends. */
export interface Forking {
  readonly status: 'forking';
  /** True if the lease of the fork has expired. Its operation may continue, or another may start again. */
  readonly isAbandoned: boolean;
}

/** Source of a fork: a version of a conversation at a head. Fixed when the fork begins. */
export interface ForkPlan {
  readonly source: ConversationRef;
  readonly version: number;
  readonly head: number;
}

/** Start of a fork. */
export interface ForkBegin extends IdleTtl {
  readonly conversation: ConversationRef;
  readonly operation: string;
  readonly agent: string;
  readonly plan: ForkPlan;
}

export type ForkBeginResult =
  /** The fork continues after `copied` entries. `plan` is the plan of the first begin. */
  | { readonly status: 'copying'; readonly copied: number; readonly plan: ForkPlan }
  | { readonly status: 'done'; readonly plan: ForkPlan }
  /** A conversation of that name exists, and this operation did not create it. */
  | { readonly status: 'exists' }
  /** Another operation creates the conversation. */
  | Forking;

/** A stretch of the log with its calls, and texts in any order. */
export interface ForkBatch {
  /** Entries that were copied already. If the head differs, nothing is written and the answer is the head. */
  readonly expectedHead: number;
  readonly entries: readonly LogEntry[];
  /** Calls that the entries leave open, and ids of earlier calls that they answer. */
  readonly opens: readonly OpenCall[];
  readonly closes: readonly string[];
  readonly texts: KeptTexts;
}

/**
 * Texts beside a log. `summaries`: by key. `whole`: by hash, full texts of clipped messages, and the system prompts,
 * tools and pins of versions.
 */
export interface KeptTexts {
  readonly summaries: ReadonlyMap<string, Summary>;
  readonly byHash: ReadonlyMap<string, string>;
}

/** The fork has ended, or its conversation was erased. */
export type ForkLost = { readonly status: 'superseded' | 'gone' };

export type ForkEndResult =
  | { readonly status: 'done' }
  /** The log ends at `head`, before the plan does, because a failover lost batches. Nothing was written. */
  | { readonly status: 'incomplete'; readonly head: number }
  | ForkLost;

/** Restores and forks, for services. No operation touches two conversations, because they may be in different slots. */
export interface VersionStore {
  replaceVersion(replacement: VersionReplacement): Promise<Acknowledged<VersionReplacementResult>>;
  /** Restarts the idle TTL, so that a long read is not interrupted by an erase. Without an idle TTL it does nothing. */
  startIdleTtl(conversation: ConversationRef): Promise<void>;
  /** Reads some texts from `cursor`. Start with `0`. `next` is `0` after the last text. */
  readTexts(conversation: ConversationRef, cursor: string): Promise<KeptTexts & { readonly next: string }>;
  /**
   * Creates the conversation, which then accepts only this fork's batches until its end. It replaces a fork that
   * another operation abandoned. Begin and batches each extend a lease.
   */
  beginFork(begin: ForkBegin): Promise<Acknowledged<ForkBeginResult>>;
  copyToFork(
    conversation: ConversationRef,
    operation: string,
    batch: ForkBatch,
  ): Promise<{ readonly status: 'copied'; readonly head: number } | ForkLost>;
  /** Stores the first version and opens the conversation. A repeated call returns the same answer. */
  endFork(conversation: ConversationRef, operation: string, version: Version): Promise<Acknowledged<ForkEndResult>>;
}

/** Lease of a fork in ms, renewed by each batch. A client gives a batch up after less than a second. */
export const FORK_LEASE_MS = 60_000;
