import { z } from 'zod';
import { requestTokens } from './compaction/request-size.ts';
import { addWeights, NO_WEIGHT, type Weight } from './message.ts';
import type { RequestOverhead } from './size.ts';
import { type Checkpoint, checkpointSchema, type Version, versionSchema } from './version.ts';

/** What a soft pass under `mode: review` would commit, whole: it holds when the summaries themselves have expired. */
export const proposalSchema = z.object({
  /** another one gets another, though of the same pass: nobody approves what was not shown */
  id: z.string(),
  /** as it would follow its parent, which has to be the live one still */
  version: versionSchema,
  /** texts of its new checkpoints, by the key under which it names them */
  checkpoints: z.record(z.string(), checkpointSchema),
});

export type Proposal = z.infer<typeof proposalSchema>;

/** A text for one of a proposal's new checkpoints, by the range that it stands for, written `5-9`. */
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

/** A new text, weighed, for the checkpoint that has stood under `replaces`. */
export interface EditedCheckpoint {
  readonly replaces: string;
  readonly key: string;
  readonly checkpoint: Checkpoint;
  readonly weight: Weight;
}

/** The range of a checkpoint as `Edits` names it. */
export function rangeName({ covers: { from, to } }: Pick<Checkpoint, 'covers'>): string {
  return `${from}-${to}`;
}

/** The proposal with other texts; the sizes of its version are what they make of it. */
export function editProposal(
  proposal: Proposal,
  edited: readonly EditedCheckpoint[],
  overhead: RequestOverhead,
): Proposal {
  const byKey = new Map(edited.map((edit) => [edit.replaces, edit]));
  const segments = proposal.version.segments.map((segment) => {
    const edit = segment.kind === 'checkpoint' ? byKey.get(segment.text) : undefined;
    return edit === undefined ? segment : { ...segment, text: edit.key, weight: edit.weight };
  });
  const checkpoints = Object.entries(proposal.checkpoints).map(([key, checkpoint]) => {
    const edit = byKey.get(key);
    return edit === undefined ? ([key, checkpoint] as const) : ([edit.key, edit.checkpoint] as const);
  });
  const weight = segments.reduce((sum, segment) => addWeights(sum, segment.weight), NO_WEIGHT);
  const tokensAfter = requestTokens({ overhead }, weight.tokens);
  const version: Version = {
    ...proposal.version,
    segments,
    weight,
    tokensAfter,
    measuredAt: { ...proposal.version.measuredAt, tokens: tokensAfter, bytes: weight.bytes + overhead.bytes },
    model: modelsOf(checkpoints.map(([, { model }]) => model)) ?? proposal.version.model,
  };
  return { ...proposal, version, checkpoints: Object.fromEntries(checkpoints) };
}

function modelsOf(models: readonly string[]): string | null {
  return models.length === 0 ? null : [...new Set(models)].join(', ');
}
