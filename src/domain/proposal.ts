import { z } from 'zod';
import { boundedRecord, MAX_GROWN_ENTRIES } from './bounded-schemas.ts';
import { requestTokens } from './compaction/budget.ts';
import { addWeights, subtractWeights, type Weight } from './message.ts';
import type { RequestOverhead } from './size.ts';
import { type Summary, summarySchema, type Version, versionSchema, weighVersion } from './version.ts';

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

/** New text for the summary whose key is `replaces`, with the size of the text. */
export interface EditedSummary {
  readonly replaces: string;
  readonly key: string;
  readonly summary: Summary;
  readonly weight: Weight;
}

/** Formats the range of a summary as `Edits` expects it, e.g. `5-9`. */
export function rangeName({ covers: { from, to } }: Pick<Summary, 'covers'>): string {
  return `${from}-${to}`;
}

/** Returns the proposal with edited summary texts, and recalculates the sizes of its version. */
export function editProposal(
  proposal: Proposal,
  edited: readonly EditedSummary[],
  overhead: RequestOverhead,
): Proposal {
  const byKey = new Map(edited.map((edit) => [edit.replaces, edit]));
  let { weight } = proposal.version;
  const segments = proposal.version.segments.map((segment) => {
    const edit = segment.kind === 'summary' ? byKey.get(segment.summaryKey) : undefined;
    if (edit === undefined) return segment;
    weight = addWeights(weight, subtractWeights(edit.weight, segment.weight));
    return { ...segment, summaryKey: edit.key, weight: edit.weight };
  });
  const summaries = Object.entries(proposal.summaries).map(([key, summary]) => {
    const edit = byKey.get(key);
    return edit === undefined ? ([key, summary] as const) : ([edit.key, edit.summary] as const);
  });
  const sent = weighVersion({ ...proposal.version, weight });
  const tokensAfter = requestTokens({ overhead }, sent.tokens);
  const version: Version = {
    ...proposal.version,
    segments,
    weight,
    tokensAfter,
    measuredAt: { ...proposal.version.measuredAt, tokens: tokensAfter, bytes: sent.bytes + overhead.bytes },
    model: modelsOf(summaries.map(([, { model }]) => model)) ?? proposal.version.model,
  };
  return { ...proposal, version, summaries: Object.fromEntries(summaries) };
}

function modelsOf(models: readonly string[]): string | null {
  return models.length === 0 ? null : [...new Set(models)].join(', ');
}
