import { ModelError } from '../../domain/model.ts';
import { PASS_LIMITS } from '../../domain/pass.ts';
import type { SummarizationDelivery } from '../../domain/ports/handlers.ts';
import type { Summarizer, SummaryParts } from '../../domain/ports/summarizer.ts';
import type { SummarizationPorts } from './ports.ts';

/** Of the time for which a pass leaves its children alone. The rest is for the call, and for the next in the chain. */
const WAIT_SHARE = 0.5;

/**
 * A summarizer of the chain, as one job asks it: what it paid for is kept, and a limit that ends too late for the pass is a
 * failure, so that the next in the chain is asked at once.
 */
export function attendSummarizer(
  { summaries }: Pick<SummarizationPorts, 'summaries'>,
  summarizer: Summarizer,
  { task: { conversation }, askedAt }: SummarizationDelivery,
): Summarizer {
  const waitUntil = askedAt + PASS_LIMITS.parkMs * WAIT_SHARE;
  const parts: SummaryParts = {
    read: (key) => summaries.readPart(conversation, key),
    write: async (key, text) => void (await summaries.recordPart(conversation, key, text)),
  };
  return {
    id: summarizer.id,
    summarize: async (request) => {
      try {
        return await summarizer.summarize({ ...request, parts });
      } catch (error) {
        const retryAt = readRetryAt(error);
        if (retryAt === undefined || retryAt <= waitUntil) throw error;
        return { status: 'failed', why: 'a limit that ends too late for its pass' };
      }
    },
  };
}

/** When a provider wants to be asked again, ms since epoch; undefined where an error says nothing of it. */
export function readRetryAt(error: unknown): number | undefined {
  return error instanceof ModelError && error.kind === 'retry' ? error.retryAt : undefined;
}
