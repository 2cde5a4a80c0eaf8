import { SUMMARY_OUTCOMES } from '../../domain/pass-events.ts';
import { CALL_SECONDS, CONTEXT_TOKENS, cross, type MetricSpec, ONE, SUMMARY_TOKENS } from './metric-spec.ts';

/** Are summaries written, by whom, and how much smaller are they? What they cost is with the models. */
export const SUMMARY_METRICS = {
  summarizationJobs: {
    type: 'counter',
    name: 'turnfold_summarization_jobs_total',
    help: 'Ended summarization jobs, by outcome (known: the summary was there already).',
    labels: ['outcome'],
    start: cross({ outcome: SUMMARY_OUTCOMES }),
  },
  summarizationDuration: {
    type: 'histogram',
    name: 'turnfold_summarization_job_duration_seconds',
    help: 'Time that the last run of a summarization job took.',
    labels: ['outcome'],
    buckets: CALL_SECONDS,
    start: cross({ outcome: SUMMARY_OUTCOMES }),
  },
  summariesWritten: {
    type: 'counter',
    name: 'turnfold_summaries_written_total',
    help: 'Summaries written, by who wrote them: the first of the chain that takes such a sequence or, where that failed or was refused, a fallback.',
    labels: ['summarizer', 'choice'],
  },
  summarySourceTokens: {
    type: 'histogram',
    name: 'turnfold_summarization_source_tokens',
    help: 'Size of the sequences that written summaries stand for.',
    labels: [],
    buckets: CONTEXT_TOKENS,
    start: ONE,
  },
  summaryTokens: {
    type: 'histogram',
    name: 'turnfold_summarization_result_tokens',
    help: 'Size of the summaries written.',
    labels: [],
    buckets: SUMMARY_TOKENS,
    start: ONE,
  },
} as const satisfies Record<string, MetricSpec>;
