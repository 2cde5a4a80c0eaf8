import { z } from 'zod';
import { boundedRecord, MAX_GROWN_ENTRIES } from './bounded-schemas.ts';
import { type Summary, summarySchema, versionSchema } from './version.ts';

/** Version that a soft pass would commit under `mode: review`. Its texts outlive the stored summaries. */
const proposalSchema = z.object({
  /** Hash of the content, so that an approval holds only for what the person saw. */
  id: z.string(),
  /** Committed only if its parent is still the current version. */
  version: versionSchema,
  /** Summaries of the version, by their keys. */
  summaries: boundedRecord(z.string(), summarySchema, MAX_GROWN_ENTRIES),
});

export type Proposal = z.infer<typeof proposalSchema>;

/** New texts for summaries, by range, e.g. `5-9`. */
export type Edits = Readonly<Record<string, string>>;

export type Verdict =
  | { readonly kind: 'approve'; readonly edits: Edits }
  | { readonly kind: 'reject'; readonly reason?: string };

/** Why turnfold could not carry out an approval. The proposal stays open. */
export interface ApprovalRefusal {
  readonly code: 'invalid_input' | 'proposal_stale' | 'conversation_busy';
  /** Path of the wrong value in the approval. */
  readonly field: string;
  readonly message: string;
}

export function rangeName({ covers: { from, to } }: Pick<Summary, 'covers'>): string {
  return `${from}-${to}`;
}
