import type { ConversationRef } from '../ids.ts';

/** Log entries that one call has packed. */
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
   * conversation becomes due again after 10 minutes, in case its worker dies.
   */
  takeUnpacked(): Promise<ConversationRef[]>;
  /**
   * Packs the log entries that `choosePackable` names, at most about 8 MB of them. A pack is read back first. Then one step
   * writes it and removes its entries from the log, if they still have the same bytes. The conversation becomes due again
   * at the time when there may be more to pack.
   */
  packLog(conversation: ConversationRef): Promise<PackedLog>;
}
