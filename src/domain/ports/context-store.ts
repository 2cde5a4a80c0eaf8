import type { ContextSource } from '../context.ts';
import type { ConversationState } from '../conversation.ts';
import type { Told } from '../durability.ts';
import type { OpenCall } from '../history.ts';
import type { ConversationRef } from '../ids.ts';
import type { LogEntry, WeighedMessage } from '../message.ts';
import type { SeqRange, Version } from '../version.ts';
import type { Forking } from './version-store.ts';

/** What turn and compaction workers read. */
export interface ContextReader {
  readConversation(conversation: ConversationRef): Promise<ConversationState | undefined>;
  /** the context of the live version at the present head, or of a kept version at a head; undefined where there is none */
  readContext(
    conversation: ConversationRef,
    at?: { readonly version?: number; readonly head?: number },
  ): Promise<ContextSource | undefined>;
  /** log entries of the ranges, ascending */
  readLog(conversation: ConversationRef, ranges: readonly SeqRange[]): Promise<LogEntry[]>;
  /** the system prompt that was written for the conversation's last turn; undefined where its agent's is a fixed text */
  readSystem(conversation: ConversationRef): Promise<string | undefined>;
  /** a whole text kept beside a clipped message */
  readText(conversation: ConversationRef, hash: string): Promise<string | undefined>;
}

export interface AppendRequest {
  readonly conversation: ConversationRef;
  /** the same id again changes nothing and answers the same */
  readonly operation: string;
  readonly agent: string;
  /** the head that ids of new calls were derived from */
  readonly expectedHead: number;
  readonly messages: readonly WeighedMessage[];
  readonly opens: readonly OpenCall[];
  readonly closes: readonly string[];
}

export type AppendResult =
  | {
      readonly status: 'appended' | 'known';
      readonly from: number;
      readonly to: number;
    }
  /** the conversation is that agent's */
  | { readonly status: 'other_agent'; readonly agent: string }
  | { readonly status: 'busy' }
  | Forking
  | { readonly status: 'conflict'; readonly head: number };

/** What services need of contexts and versions. */
export interface ContextStore extends ContextReader {
  append(request: AppendRequest): Promise<Told<AppendResult>>;
  /** kept versions, oldest first */
  listVersions(conversation: ConversationRef): Promise<Version[]>;
  readVersion(conversation: ConversationRef, number: number): Promise<Version | undefined>;
  /** removes every key of the conversation; what still writes to it is answered `gone` */
  erase(conversation: ConversationRef): Promise<Told<{ readonly removedKeys: number }>>;
}
