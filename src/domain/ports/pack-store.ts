import type { ConversationRef } from '../ids.ts';

/** What one call has packed. */
export interface PackedLog {
  /** Number of log entries. */
  readonly entries: number;
  /** Bytes of these entries in the log. */
  readonly bytes: number;
  /** Bytes of the packs that hold them now. */
  readonly packedBytes: number;
}

/**
 * Packs old log entries: a pack is one compressed value that holds many of them. Every operation that reads the log also
 * reads packed entries, so packing changes no answer.
 */
export interface PackStore {
  /**
   * Takes some of the conversations that may have entries to pack now. Each call looks at a part of the shards. A taken
   * conversation becomes due again after 10 minutes, in case nobody packs its log.
   */
  takeUnpacked(): Promise<ConversationRef[]>;
  /**
   * Packs the log entries that `choosePackable` names, at most about 8 MB of them. An entry is removed from the log in the
   * same step that writes its pack, and only if the pack was read back and holds the same bytes. The conversation becomes
   * due again at the time when there may be more to pack.
   */
  packLog(conversation: ConversationRef): Promise<PackedLog>;
}
