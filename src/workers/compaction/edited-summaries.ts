import { type EditedSummary, type Edits, type Proposal, rangeName } from '../../domain/proposal.ts';
import { renderWidestSummary } from '../../domain/summary.ts';
import type { PreparedAgent } from '../prepared-agent.ts';
import { summaryTextKey } from './summary-key.ts';

/**
 * The texts that a person put in the places of a proposal's, weighed as a summarizer's are. A provider's own items for the same
 * range go: they say what the person took out.
 */
export async function weighEdits(
  { weigh }: Pick<PreparedAgent, 'weigh'>,
  { summaries }: Proposal,
  edits: Edits,
): Promise<EditedSummary[]> {
  const edited: EditedSummary[] = [];
  for (const [key, summary] of Object.entries(summaries)) {
    const text = edits[rangeName(summary)];
    if (text === undefined || text === summary.text) continue;
    const { raw: _, ...kept } = summary;
    const said = { ...kept, text, model: 'edited' };
    const { tokens, bytes } = await weigh({
      role: 'summary',
      content: renderWidestSummary(text, summary.covers),
    });
    edited.push({ replaces: key, key: summaryTextKey(said), summary: said, weight: { tokens, bytes } });
  }
  return edited;
}
