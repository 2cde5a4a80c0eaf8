import { z } from 'zod';
import { boundedRecord, MAX_GROWN_ENTRIES } from './bounded-schemas.ts';
import { type Summary, summarySchema, versionSchema } from './version.ts';

/**
 * The context version that a soft compaction pass would commit under `mode: review`, with its texts. The proposal stays
 * valid even after the stored summaries expire.
 */
export const proposalSchema = z.object({
  /**
   * Id of exactly this content. If the compaction pass makes another proposal, it gets another id, so an approval holds
   * only for the content that the person saw.
   */
  id: z.string(),
  /** Version that an approval commits, provided that its parent is still the current version. */
  version: versionSchema,
  /** Texts of the new summaries, by the keys that the version uses. */
  summaries: boundedRecord(z.string(), summarySchema, MAX_GROWN_ENTRIES),
});

export type Proposal = z.infer<typeof proposalSchema>;

/** New texts that a person gives for summaries of a proposal, by range, e.g. `5-9`. */
export type Edits = Readonly<Record<string, string>>;

/** A person's decision on a proposal. */
export type Verdict =
  | { readonly kind: 'approve'; readonly edits: Edits }
  | { readonly kind: 'reject'; readonly reason?: string };

/** Why turnfold could not carry out an approval. The proposal stays open. */
export interface ApprovalRefusal {
  readonly code: 'invalid_input' | 'proposal_stale' | 'conversation_busy';
  /** Path of the wrong value in the approval. */
  readonly field: string;
  /** Explanation for a person, without contents. */
  readonly message: string;
}

/** Formats the range of a summary as `Edits` expects it, e.g. `5-9`. */
export function rangeName({ covers: { from, to } }: Pick<Summary, 'covers'>): string {
  return `${from}-${to}`;
}
