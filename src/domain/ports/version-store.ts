import type { Backoff } from '../conversation.ts';
import type { Told } from '../durability.ts';
import type { OpenCall } from '../history.ts';
import type { IdleTtl } from '../idle-ttl.ts';
import type { ConversationRef } from '../ids.ts';
import type { LogEntry } from '../message.ts';
import type { Summary, Version } from '../version.ts';

/** A version that somebody asked for, and no pass made: a restore, or the rollback of a turn. */
export interface VersionReplacement {
  readonly conversation: ConversationRef;
  /** the same id again changes nothing and answers the same */
  readonly operation: string;
  /** live version and head that it was made over; others answer `changed` and write nothing */
  readonly expectedVersion: number;
  readonly expectedHead: number;
  readonly version: Version;
  /** until the context has grown, no soft pass */
  readonly backoff: Backoff;
  /** a turn that waits and calls that are open go on over it: it takes none of their messages away */
  readonly keepsNewer: boolean;
  /** id of a turn wake, recorded and answered where a turn waited for the pass that this ends */
  readonly wakeTurn: string;
  /** versions kept besides restore points */
  readonly keepVersions: number;
}

export type VersionReplacementResult =
  | { readonly status: 'replaced'; readonly version: number; readonly wakeTurn?: string }
  | { readonly status: 'known'; readonly version: number; readonly wakeTurn?: string }
  | { readonly status: 'changed'; readonly version: number; readonly head: number }
  /** a turn runs; or one waits, or calls are open, and it would take their messages away */
  | { readonly status: 'busy' }
  /** a summary of it has no text any more */
  | { readonly status: 'text_gone' }
  | { readonly status: 'not_found' | 'gone' }
  | Forking;

/** The conversation is being copied and takes nothing else before that ends. */
export interface Forking {
  readonly status: 'forking';
  /** nobody has copied for as long as a fork's lease: its operation may go on, another may begin anew */
  readonly isAbandoned: boolean;
}

/** What a fork copies: the source as one version of it shows it at one head. Fixed when the fork begins. */
export interface ForkPlan {
  readonly source: ConversationRef;
  readonly version: number;
  readonly head: number;
}

export interface ForkBegin extends IdleTtl {
  /** the conversation that is made */
  readonly conversation: ConversationRef;
  readonly operation: string;
  readonly agent: string;
  readonly plan: ForkPlan;
}

export type ForkBeginResult =
  /** goes on behind `copied`; `plan` is that of the first begin */
  | { readonly status: 'copying'; readonly copied: number; readonly plan: ForkPlan }
  | { readonly status: 'done'; readonly plan: ForkPlan }
  /** there is a conversation of that name, and this operation did not make it */
  | { readonly status: 'exists' }
  /** another operation is making it */
  | Forking;

/** A stretch of the log, with what belongs to it; and texts, which may come in any order. */
export interface ForkBatch {
  /** entries already copied; elsewhere nothing is written and the head answered */
  readonly expectedHead: number;
  readonly entries: readonly LogEntry[];
  /** calls that the entries leave open, and ids of earlier calls that they answer */
  readonly opens: readonly OpenCall[];
  readonly closes: readonly string[];
  readonly texts: KeptTexts;
}

/**
 * Texts beside a log: summaries by key; by hash the whole texts of clipped messages, and system prompt, tools and pins under
 * which versions were made.
 */
export interface KeptTexts {
  readonly summaries: ReadonlyMap<string, Summary>;
  readonly whole: ReadonlyMap<string, string>;
}

/** The fork was ended, or its conversation erased. */
export type ForkLost = { readonly status: 'superseded' | 'gone' };

export type ForkEndResult =
  | { readonly status: 'done' }
  /** it ends at `head`, before the plan does: a failover has lost batches that were answered. Nothing was written */
  | { readonly status: 'incomplete'; readonly head: number }
  | ForkLost;

/** Versions that services ask for. No operation touches two conversations: they may lie in different slots. */
export interface VersionStore {
  replaceVersion(replacement: VersionReplacement): Promise<Told<VersionReplacementResult>>;
  /** somebody reads it for longer than one look: it is not erased meanwhile for having rested. Nothing without a time to live */
  startIdleTtl(conversation: ConversationRef): Promise<void>;
  /** a few texts, from `cursor` on (`0` first); `next` is `0` once all were answered */
  readTexts(conversation: ConversationRef, cursor: string): Promise<KeptTexts & { readonly next: string }>;
  /**
   * makes the conversation, which accepts nothing but this fork's batches until its end; in the place of one that another
   * operation abandoned. Begin and batches hold it for a lease each.
   */
  beginFork(begin: ForkBegin): Promise<Told<ForkBeginResult>>;
  copyToFork(
    conversation: ConversationRef,
    operation: string,
    batch: ForkBatch,
  ): Promise<{ readonly status: 'copied'; readonly head: number } | ForkLost>;
  /** puts the first version and opens the conversation; sent again it answers the same */
  endFork(conversation: ConversationRef, operation: string, version: Version): Promise<Told<ForkEndResult>>;
}

/** Lease of a fork in ms, renewed by each batch. A client gives a batch up after less than a second. */
export const FORK_LEASE_MS = 60_000;
