import type { ConversationState } from '../../domain/conversation.ts';
import { PASS_LIMITS } from '../../domain/pass.ts';
import type { Policy } from '../../domain/policy.ts';
import type { SummarizationTask } from '../../domain/ports/queue.ts';
import type { EarlierCheckpoint } from '../../domain/ports/summarizer.ts';
import type { Checkpoint } from '../../domain/version.ts';
import type { SummarizationPorts } from './ports.ts';

/** The checkpoints of a sequence that a summary may be made from. */
export interface Earlier {
  readonly checkpoints: readonly EarlierCheckpoint[];
  /** under which versions name their texts */
  readonly keys: readonly string[];
  /** that a summary made from them has */
  readonly depth: number;
}

/**
 * What stands for parts of the sequence in the live version: to update it costs the reading of what is new alone. None where a
 * summary made from it would be too far from the log, or where the policy or one of the texts has no model behind it.
 */
export async function findEarlier(
  contexts: Pick<SummarizationPorts['contexts'], 'readContext'>,
  { conversation, sequence }: SummarizationTask,
  { policy, state }: { readonly policy: Policy; readonly state: ConversationState },
): Promise<Earlier | undefined> {
  if (policy.summarizer === 'structural' || state.size.version === 0) return undefined;
  const source = await contexts.readContext(conversation);
  const found = (source?.version.segments ?? []).flatMap((segment) => {
    const isWithin = segment.from >= sequence.from && segment.to <= sequence.to;
    if (segment.kind !== 'checkpoint' || !isWithin) return [];
    const checkpoint = source?.checkpoints.get(segment.text);
    return checkpoint === undefined ? [] : [{ key: segment.text, checkpoint }];
  });
  const depth = 1 + Math.max(0, ...found.map(({ checkpoint }) => checkpoint.depth));
  if (found.length === 0 || depth > PASS_LIMITS.maxSummaryDepth || !found.every(isModelMade)) return undefined;
  return { checkpoints: found.map(({ checkpoint }) => checkpoint), keys: found.map(({ key }) => key), depth };
}

/** The structural summarizer stood in: its outline holds less than a model finds in the log. */
function isModelMade({ checkpoint }: { readonly checkpoint: Checkpoint }): boolean {
  return checkpoint.model !== 'structural';
}
