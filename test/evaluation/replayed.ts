import type { Message } from '../../src/domain/message.ts';
import type { PolicyInput } from '../../src/domain/policy.ts';
import type { SeqRange } from '../../src/domain/version.ts';
import type { SummarizerChain } from '../../src/evaluation/evaluated-passes.ts';
import {
  createOfflineSummarizers,
  type OfflineWindow,
  prepareOfflineAgent,
  weighConversation,
} from '../../src/evaluation/offline-agent.ts';
import { Replay, type Replayed } from '../../src/evaluation/replay.ts';
import type { TrialOutcome } from '../../src/workers/compaction/trial-pass.ts';

/** One compaction pass of a replay. */
export interface ReplayedPass {
  readonly outcome: TrialOutcome;
  /** Ranges of the summaries that were written for this pass. */
  readonly written: readonly SeqRange[];
  /** Number of messages before the pass. */
  readonly messages: number;
}

export interface RecordedReplay extends Replayed {
  readonly passes: readonly ReplayedPass[];
}

/** Replays conversations under a policy, without a model, and records each pass. */
export async function openReplay(policy: PolicyInput, window: OfflineWindow) {
  const prepared = await prepareOfflineAgent(policy, window);
  const chain = await createOfflineSummarizers();
  return async (conversation: readonly Message[]): Promise<RecordedReplay> => {
    const passes: ReplayedPass[] = [];
    let written: SeqRange[] = [];
    let messages = 0;
    const recording: SummarizerChain = (...asked) =>
      chain(...asked).map((summarizer) => ({
        id: summarizer.id,
        summarize: async (request) => {
          const answer = await summarizer.summarize(request);
          if (answer.status === 'written') written.push(request.range);
          return answer;
        },
      }));
    const weighed = await weighConversation(conversation, prepared);
    const replay = new Replay(weighed, prepared, recording, (outcome) => {
      passes.push({ outcome, written, messages });
      written = [];
    });
    for (const message of weighed) {
      await replay.add(message);
      messages += 1;
    }
    return { ...(await replay.end()), passes };
  };
}

/** Ranges of summaries that were written for a pass, and that its version does not show. */
export function findUnused({ outcome, written }: ReplayedPass): SeqRange[] {
  const shown = outcome.kind === 'version' ? outcome.settled.segments.filter(({ kind }) => kind === 'summary') : [];
  return written.filter((range) => !shown.some(({ from, to }) => from === range.from && to === range.to));
}
