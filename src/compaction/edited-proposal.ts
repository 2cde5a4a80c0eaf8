import type { Weight } from '../domain/message.ts';
import { addWeights, subtractWeights } from '../domain/message.ts';
import type { Proposal } from '../domain/proposal.ts';
import type { RequestOverhead } from '../domain/size.ts';
import type { Summary, Version } from '../domain/version.ts';
import { weighVersion } from '../domain/version.ts';
import { requestTokens } from './budget.ts';

/** A summary whose text a person edited. `replaces`: key of the summary before the edit. */
export interface EditedSummary {
  readonly replaces: string;
  readonly key: string;
  readonly summary: Summary;
  readonly weight: Weight;
}

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
