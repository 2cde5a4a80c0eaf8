import { isModelError } from '../../domain/model.ts';
import { PASS_LIMITS } from '../../domain/pass.ts';
import type { Summarizer, SummaryParts } from '../../domain/ports/summarizer.ts';
import type { SummaryLease } from '../../domain/ports/summary-store.ts';
import type { SummarizationPorts } from './ports.ts';

/** Of the time for which a pass leaves its children alone. The rest is for the call, and for the next in the chain. */
const WAIT_SHARE = 0.5;

interface AttendedJob {
  readonly lease: SummaryLease;
  /** when its pass asked for it, ms since epoch */
  readonly askedAt: number;
}

/**
 * A summarizer of the chain, as one job asks it: what it paid for is kept, and a limit that ends too late for the pass is a
 * failure, so that the next in the chain is asked at once.
 */
export function attendSummarizer(
  { summaries }: Pick<SummarizationPorts, 'summaries'>,
  summarizer: Summarizer,
  { lease, askedAt }: AttendedJob,
): Summarizer {
  const waitUntil = askedAt + PASS_LIMITS.parkMs * WAIT_SHARE;
  const parts: SummaryParts = {
    read: (key) => summaries.readPart(lease.conversation, key),
    write: async (key, text) => void (await summaries.recordPart(lease, key, text)),
  };
  return {
    id: summarizer.id,
    summarize: async (request) => {
      try {
        return await summarizer.summarize({ ...request, parts });
      } catch (error) {
        const retryAt = readSummarizerRetryAt(error);
        if (retryAt === undefined || retryAt <= waitUntil) throw error;
        return { status: 'failed', why: 'a limit that ends too late for its pass' };
      }
    },
  };
}

/** When a provider wants to be asked again, ms since epoch; undefined where an error says nothing of it. */
export function readSummarizerRetryAt(error: unknown): number | undefined {
  return isModelError(error, 'retry') ? error.retryAt : undefined;
}
