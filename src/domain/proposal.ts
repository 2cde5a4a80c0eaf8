import { z } from 'zod';
import { requestTokens } from './compaction/request-size.ts';
import { addWeights, NO_WEIGHT, type Weight } from './message.ts';
import type { RequestOverhead } from './size.ts';
import { type Summary, summarySchema, type Version, versionSchema } from './version.ts';

/** What a soft pass under `mode: review` would commit, whole: it holds when the summaries themselves have expired. */
export const proposalSchema = z.object({
  /** another one gets another, though of the same pass: nobody approves what was not shown */
  id: z.string(),
  /** as it would follow its parent, which has to be the live one still */
  version: versionSchema,
  /** texts of its new summaries, by the key under which it names them */
  summaries: z.record(z.string(), summarySchema),
});

export type Proposal = z.infer<typeof proposalSchema>;

/** A text for one of a proposal's new summaries, by the range that it stands for, written `5-9`. */
export type Edits = Readonly<Record<string, string>>;

/** What a person made of a proposal. */
export type Verdict =
  | { readonly kind: 'approve'; readonly edits: Edits }
  | { readonly kind: 'reject'; readonly reason?: string };

/** Why an approval was not carried out. The proposal waits on. */
export interface ApprovalRefusal {
  /** what kind of refusal it is */
  readonly code: 'invalid_input' | 'proposal_stale' | 'conversation_busy';
  /** the part of the approval at fault */
  readonly field: string;
  /** without contents */
  readonly message: string;
}

/** A new text, weighed, for the summary that has stood under `replaces`. */
export interface EditedSummary {
  readonly replaces: string;
  readonly key: string;
  readonly summary: Summary;
  readonly weight: Weight;
}

/** The range of a summary as `Edits` names it. */
export function rangeName({ covers: { from, to } }: Pick<Summary, 'covers'>): string {
  return `${from}-${to}`;
}

/** The proposal with other texts; the sizes of its version are what they make of it. */
export function editProposal(
  proposal: Proposal,
  edited: readonly EditedSummary[],
  overhead: RequestOverhead,
): Proposal {
  const byKey = new Map(edited.map((edit) => [edit.replaces, edit]));
  const segments = proposal.version.segments.map((segment) => {
    const edit = segment.kind === 'summary' ? byKey.get(segment.text) : undefined;
    return edit === undefined ? segment : { ...segment, text: edit.key, weight: edit.weight };
  });
  const summaries = Object.entries(proposal.summaries).map(([key, summary]) => {
    const edit = byKey.get(key);
    return edit === undefined ? ([key, summary] as const) : ([edit.key, edit.summary] as const);
  });
  const weight = segments.reduce((sum, segment) => addWeights(sum, segment.weight), NO_WEIGHT);
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
