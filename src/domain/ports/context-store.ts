import type { ContextSource } from '../context.ts';
import type { ConversationState } from '../conversation.ts';
import type { Acknowledged } from '../durability.ts';
import type { OpenCall } from '../history.ts';
import type { ConversationRef } from '../ids.ts';
import type { LogEntry, WeighedMessage } from '../message.ts';
import type { SeqRange, Version } from '../version.ts';
import type { Forking } from './version-store.ts';

/** Reads of conversations, logs and contexts, for turn and compaction workers. */
export interface ContextReader {
  /** @returns undefined if there is no such conversation */
  readConversation(conversation: ConversationRef): Promise<ConversationState | undefined>;
  /**
   * Reads the context of the live version at the current head. `at` selects a kept version or another head.
   * @returns undefined if there is no such conversation or version
   */
  readContext(
    conversation: ConversationRef,
    at?: { readonly version?: number | undefined; readonly head?: number | undefined },
  ): Promise<ContextSource | undefined>;
  /** Reads the log entries of seq ranges, ascending. */
  readLog(conversation: ConversationRef, ranges: readonly SeqRange[]): Promise<LogEntry[]>;
  /** Reads the system prompt that a function wrote for the last turn. Undefined if the agent's prompt is a fixed text. */
  readSystem(conversation: ConversationRef): Promise<string | undefined>;
  /** Reads the full text of a clipped message, by its hash. */
  readText(conversation: ConversationRef, hash: string): Promise<string | undefined>;
}

/** Messages to append outside of a turn. */
export interface AppendRequest {
  readonly conversation: ConversationRef;
  /** Operation id. A repeated id changes nothing and returns the same answer (I5). */
  readonly operation: string;
  readonly agent: string;
  /** Head from which the ids of new calls were derived. */
  readonly expectedHead: number;
  readonly messages: readonly WeighedMessage[];
  /** Calls that the messages open. */
  readonly opens: readonly OpenCall[];
  /** Ids of calls that the messages answer. */
  readonly closes: readonly string[];
}

export type AppendResult =
  | {
      readonly status: 'appended' | 'known';
      readonly from: number;
      readonly to: number;
    }
  /** The conversation belongs to the named agent. */
  | { readonly status: 'other_agent'; readonly agent: string }
  | { readonly status: 'busy' }
  | Forking
  | { readonly status: 'conflict'; readonly head: number };

/** Contexts and versions, for services. */
export interface ContextStore extends ContextReader {
  append(request: AppendRequest): Promise<Acknowledged<AppendResult>>;
  /** Lists the kept versions, oldest first. */
  listVersions(conversation: ConversationRef): Promise<Version[]>;
  /** @returns undefined if the version is not kept */
  readVersion(conversation: ConversationRef, number: number): Promise<Version | undefined>;
  /** Removes every key of the conversation. Later writes of its workers are answered `gone`. */
  erase(conversation: ConversationRef): Promise<Acknowledged<{ readonly removedKeys: number }>>;
}
