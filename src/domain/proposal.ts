import { z } from 'zod';
import { requestTokens } from './compaction/budget.ts';
import { weighItems } from './context.ts';
import type { Weight } from './message.ts';
import type { RequestOverhead } from './size.ts';
import { type Summary, summarySchema, type Version, versionSchema } from './version.ts';

/**
 * The version that a soft pass under `mode: review` would commit, with its texts. It stays valid after the summaries
 * expired.
 */
export const proposalSchema = z.object({
  /**
   * Id of this content. Another proposal of the same pass has another id, so that an approval holds only for the
   * content that the person saw.
   */
  id: z.string(),
  /** Version that would be committed. Its parent must still be the live version. */
  version: versionSchema,
  /** Texts of the new summaries, by the keys that the version uses. */
  summaries: z.record(z.string(), summarySchema),
});

export type Proposal = z.infer<typeof proposalSchema>;

/** New texts for summaries of a proposal, by their ranges in the form `5-9`. */
export type Edits = Readonly<Record<string, string>>;

/** Decision of a person on a proposal. */
export type Verdict =
  | { readonly kind: 'approve'; readonly edits: Edits }
  | { readonly kind: 'reject'; readonly reason?: string };

/** Why an approval could not be carried out. The proposal stays open. */
export interface ApprovalRefusal {
  readonly code: 'invalid_input' | 'proposal_stale' | 'conversation_busy';
  /** Part of the approval at fault. */
  readonly field: string;
  /** Explanation for a person, without contents. */
  readonly message: string;
}

/** A weighed new text for the summary with the key `replaces`. */
export interface EditedSummary {
  readonly replaces: string;
  readonly key: string;
  readonly summary: Summary;
  readonly weight: Weight;
}

/** Names the range of a summary as `Edits` does. */
export function rangeName({ covers: { from, to } }: Pick<Summary, 'covers'>): string {
  return `${from}-${to}`;
}

/** Returns the proposal with other texts. The sizes of its version follow from the new texts. */
export function editProposal(
  proposal: Proposal,
  edited: readonly EditedSummary[],
  overhead: RequestOverhead,
): Proposal {
  const byKey = new Map(edited.map((edit) => [edit.replaces, edit]));
  const segments = proposal.version.segments.map((segment) => {
    const edit = segment.kind === 'summary' ? byKey.get(segment.summaryKey) : undefined;
    return edit === undefined ? segment : { ...segment, summaryKey: edit.key, weight: edit.weight };
  });
  const summaries = Object.entries(proposal.summaries).map(([key, summary]) => {
    const edit = byKey.get(key);
    return edit === undefined ? ([key, summary] as const) : ([edit.key, edit.summary] as const);
  });
  const weight = weighItems(segments.map((segment) => segment.weight));
  const tokensAfter = requestTokens({ overhead }, weight.tokens);
  const version: Version = {
    ...proposal.version,
    segments,
    weight,
    tokensAfter,
    measuredAt: { ...proposal.version.measuredAt, tokens: tokensAfter, bytes: weight.bytes + overhead.bytes },
    model: modelsOf(summaries.map(([, { model }]) => model)) ?? proposal.version.model,
  };
  return { ...proposal, version, summaries: Object.fromEntries(summaries) };
}

function modelsOf(models: readonly string[]): string | null {
  return models.length === 0 ? null : [...new Set(models)].join(', ');
}
