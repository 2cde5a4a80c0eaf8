import type { z } from 'zod';
import type { ContextSource } from '../context.ts';
import type { ConversationState } from '../conversation.ts';
import type { Acknowledged } from '../durability.ts';
import type { OpenCall } from '../history.ts';
import type { ConversationRef } from '../ids.ts';
import type { LogEntry, WeighedMessage } from '../message.ts';
import type { SeqRange, Summary, Version } from '../version.ts';
import type { PassRequest } from './pass-store.ts';
import type { Forking, OtherPayload } from './version-store.ts';

/** Reads conversations, logs and contexts for workers. */
export interface ContextReader {
  /** @returns undefined if the conversation does not exist */
  readConversation(conversation: ConversationRef): Promise<ConversationState | undefined>;
  /**
   * Reads the context of the current version with the whole log. `at` selects an older version or an earlier end of the
   * log.
   * @returns undefined if the conversation or version does not exist
   */
  readContext(
    conversation: ConversationRef,
    at?: { readonly version?: number | undefined; readonly head?: number | undefined },
  ): Promise<ContextSource | undefined>;
  /**
   * Reads the log entries in these ranges of sequence numbers, in ascending order. With `maxBytes`, the read ends
   * after about so many bytes, but not before its first entry.
   */
  readLog(conversation: ConversationRef, ranges: readonly SeqRange[], maxBytes?: number): Promise<LogEntry[]>;
  /**
   * Reads the system prompt that the agent's function wrote for the last turn. Undefined if the agent's prompt is a
   * fixed text.
   */
  readSystem(conversation: ConversationRef): Promise<string | undefined>;
  /** Reads the full text of a clipped message, or a text of the agent, by the hash of the text. */
  readText(conversation: ConversationRef, hash: string): Promise<string | undefined>;
}

/** Messages that a caller appends outside of a turn. */
export interface AppendRequest {
  readonly conversation: ConversationRef;
  /** Name of the operation, see `nameOperation`. A repeated name writes nothing and gets the first answer (invariant I5). */
  readonly operation: string;
  readonly agent: string;
  /** Last log entry that the caller knew when it chose the ids of new tool calls. */
  readonly expectedHead: number;
  readonly messages: readonly WeighedMessage[];
  /** Tool calls that the messages make and that have no result yet. */
  readonly opens: readonly OpenCall[];
  /** Ids of tool calls for which the messages are results. */
  readonly closes: readonly string[];
  /**
   * Compaction pass that the append creates if the messages are the first of the log and no pass is open. Only the pass
   * knows the policy of the conversation, and so its idle TTL. Without the pass, a conversation whose caller died after the
   * append would never be erased.
   */
  readonly firstPass?: Pick<PassRequest, 'passId' | 'wake'> | undefined;
}

export type AppendResult =
  | {
      readonly status: 'appended' | 'known';
      readonly from: number;
      readonly to: number;
    }
  /** The conversation belongs to another agent, which is named. */
  | { readonly status: 'other_agent'; readonly agent: string }
  | { readonly status: 'busy' }
  | Forking
  | OtherPayload
  | { readonly status: 'conflict'; readonly head: number };

/** Reads and changes contexts, for client calls. */
export interface ContextStore extends ContextReader {
  append(request: AppendRequest): Promise<Acknowledged<AppendResult>>;
  /** Lists the stored context versions, oldest first. */
  listVersions(conversation: ConversationRef): Promise<Version[]>;
  /** @returns undefined if the context version does not exist any more */
  readVersion(conversation: ConversationRef, number: number): Promise<Version | undefined>;
  /** Reads the summaries that a kept version shows, by their keys. A summary whose text is lost is left out. */
  readShownSummaries(conversation: ConversationRef, version: Version): Promise<ReadonlyMap<string, Summary>>;
  /**
   * Reads a list that describes the agent of a version, by the hash of its JSON. Empty if the text is lost.
   * @throws corrupt_record if the text is not JSON within bounds or does not match the schema
   */
  readAgentList<Item>(conversation: ConversationRef, hash: string, schema: z.ZodType<Item[]>): Promise<Item[]>;
  /** Deletes every key of the conversation. Later writes of its workers get the answer `gone`. */
  erase(conversation: ConversationRef): Promise<Acknowledged<{ readonly removedKeys: number }>>;
}
