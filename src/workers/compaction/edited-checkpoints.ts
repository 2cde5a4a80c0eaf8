import { renderWidestCheckpoint } from '../../domain/checkpoint.ts';
import { type EditedCheckpoint, type Edits, type Proposal, rangeName } from '../../domain/proposal.ts';
import type { PreparedAgent } from '../prepared-agent.ts';
import { checkpointKey } from './summary-key.ts';

/**
 * The texts that a person put in the places of a proposal's, weighed as a summarizer's are. A provider's own items for the same
 * range go: they say what the person took out.
 */
export async function weighEdits(
  { weigh }: Pick<PreparedAgent, 'weigh'>,
  { checkpoints }: Proposal,
  edits: Edits,
): Promise<EditedCheckpoint[]> {
  const edited: EditedCheckpoint[] = [];
  for (const [key, checkpoint] of Object.entries(checkpoints)) {
    const text = edits[rangeName(checkpoint)];
    if (text === undefined || text === checkpoint.text) continue;
    const { raw: _, ...kept } = checkpoint;
    const said = { ...kept, text, model: 'edited' };
    const { tokens, bytes } = await weigh({
      role: 'checkpoint',
      content: renderWidestCheckpoint(text, checkpoint.covers),
    });
    edited.push({ replaces: key, key: checkpointKey(said), checkpoint: said, weight: { tokens, bytes } });
  }
  return edited;
}
