import { REASONS, type Reason } from '../../domain/pass.ts';
import type { PassMeasure } from '../../domain/pass-events.ts';
import type { Instruments } from '../instruments.ts';
import { SPAN_EVENTS, TURNFOLD } from '../trace-names.ts';
import { type EventOf, type EventRows, type LogLine, line, pick } from './event-row.ts';
import { toSeconds } from './metric-spec.ts';

const SIZES = ['tokensBefore', 'tokensAfter', 'archived', 'sequences'] as const;

const PASS_LEVELS: Readonly<Record<EventOf<'pass_ended'>['outcome'], LogLine['level']>> = {
  committed: 'info',
  approved: 'info',
  rejected: 'info',
  expired: 'info',
  no_reason: 'debug',
  thinking: 'debug',
  none: 'debug',
  no_gain: 'info',
  infeasible: 'warn',
  failed: 'warn',
  superseded: 'info',
};

/** Passes that changed nothing are logged at `debug`. */
export const PASS_EVENTS = {
  pass_requested: {
    log: ({ reasons, isJoined }) =>
      line(
        'debug',
        isJoined ? 'further reasons to compact added to the open compaction pass' : 'compaction pass requested',
        { reasons },
      ),
    count({ reasons }, { passRequests }) {
      for (const reason of reasons) passRequests.inc({ reason });
    },
    span: ({ reasons, isJoined, passId }) => ({
      of: ['turn', 'pass'],
      eventName: SPAN_EVENTS.passRequested,
      attributes: {
        [TURNFOLD.pass]: passId,
        [TURNFOLD.reasons]: [...reasons],
        [TURNFOLD.outcome]: isJoined ? 'joined' : 'requested',
      },
    }),
  },
  pass_backed_off: {
    log: ({ why }) => line('debug', 'compaction pass not requested: it would gain nothing now', { why }),
    count: ({ why }, { passBackoffs }) => passBackoffs.inc({ why }),
  },
  pass_taken_over: {
    log: () => line('warn', 'compaction pass taken over by a waiting turn'),
    count: (_, { passFallbacks }) => passFallbacks.inc({ fallback: 'taken_over' }),
  },
  pass_fanned_out: {
    log: ({ jobs, sequences }) =>
      line('debug', 'compaction pass waits for its summarization jobs', { jobs, sequences }),
    count: ({ jobs }, { passFanOut }) => passFanOut.observe(jobs),
    span: ({ jobs, sequences }) => ({
      of: ['pass'],
      attributes: { [TURNFOLD.outcome]: 'fanned_out', [TURNFOLD.jobs]: jobs, [TURNFOLD.sequences]: sequences },
    }),
  },
  pass_proposed: {
    log: (event) => line('info', 'compaction pass waits for approval', pick(event, 'strategy', 'reasons', ...SIZES)),
    count: ({ strategy, reasons }, { passProposals }) => passProposals.inc({ strategy, trigger: findTrigger(reasons) }),
    span: (event) => ({ of: ['pass'], attributes: { [TURNFOLD.outcome]: 'proposed', ...describeResult(event) } }),
  },
  approval_refused: {
    log: ({ code, field, message }) =>
      line('warn', 'approval of a proposed compaction could not be carried out', { code, field, why: message }),
    count: ({ code }, { approvalsRefused }) => approvalsRefused.inc({ code }),
  },
  pass_ended: {
    log: (event) =>
      line(
        PASS_LEVELS[event.outcome],
        'compaction pass ended',
        pick(event, 'outcome', 'code', 'strategy', 'reasons', 'durationMs', 'version', ...SIZES),
      ),
    count: countPass,
    span: ({ outcome, code, version, ...result }) => ({
      of: ['pass'],
      attributes: { [TURNFOLD.outcome]: outcome, [TURNFOLD.version]: version, ...describeResult(result) },
      error: outcome === 'failed' || outcome === 'infeasible' ? (code ?? outcome) : undefined,
    }),
  },
  pass_shadowed: {
    log: ({ live, shadow }) =>
      shadow === undefined
        ? line('debug', 'shadow policy could not be measured', describeMeasure('live', live))
        : line('info', 'shadow policy measured', {
            ...describeMeasure('live', live),
            ...describeMeasure('shadow', shadow),
          }),
    count: countShadow,
  },
  summary_ended: {
    log: ({ outcome, durationMs, sourceTokens, tokens, written, why }) =>
      line(
        outcome === 'failed' || outcome === 'refused' || written?.isFallback === true ? 'warn' : 'debug',
        'summarization job ended',
        { outcome, durationMs, sourceTokens, tokens, ...written, why },
      ),
    count: countSummary,
    span: ({ outcome, tokens }) => ({
      of: ['summary'],
      attributes: { [TURNFOLD.outcome]: outcome, [TURNFOLD.summaryTokens]: tokens },
      error: outcome === 'failed' || outcome === 'refused' ? outcome : undefined,
    }),
  },
  version_refused: {
    log: ({ by, version, codes, message, form }) =>
      line(
        'error',
        by === 'provider'
          ? 'context version rolled back: the provider refused it'
          : 'context version not committed: its messages break a rule of the provider format',
        { version, codes, why: message, form },
      ),
    count: ({ by }, { versionsRefused }) => versionsRefused.inc({ by }),
    span: ({ by, version }) => ({
      of: ['turn', 'pass'],
      eventName: SPAN_EVENTS.versionRefused,
      attributes: { [TURNFOLD.version]: version, [TURNFOLD.outcome]: by },
    }),
  },
} satisfies Partial<EventRows>;

type PassResult = Pick<EventOf<'pass_ended'>, 'strategy' | (typeof SIZES)[number]>;

function describeResult({ strategy, tokensBefore, tokensAfter, archived, sequences }: PassResult) {
  return {
    [TURNFOLD.strategy]: strategy,
    [TURNFOLD.tokensBefore]: tokensBefore,
    [TURNFOLD.tokensAfter]: tokensAfter,
    [TURNFOLD.archived]: archived,
    [TURNFOLD.sequences]: sequences,
  };
}

/** Sizes count only if the pass created a version, because otherwise the context is unchanged. */
function countPass(event: EventOf<'pass_ended'>, instruments: Instruments): void {
  const { strategy, outcome, reasons, durationMs, sequences, fallbacks = [], startsBackoff } = event;
  const { tokensBefore, tokensAfter, archived, prefixTokens } = event;
  instruments.passes.inc({ strategy, trigger: findTrigger(reasons), outcome });
  if (durationMs !== undefined) instruments.passDuration.observe({ strategy, outcome }, toSeconds(durationMs));
  instruments.passSequences.observe(sequences);
  for (const fallback of fallbacks) instruments.passFallbacks.inc({ fallback });
  if (startsBackoff === true) instruments.backoffStarts.inc();
  if (outcome !== 'committed' && outcome !== 'approved') return;
  if (tokensBefore !== undefined) instruments.passTokensBefore.observe({ strategy }, tokensBefore);
  if (tokensAfter !== undefined) instruments.passTokensAfter.observe({ strategy }, tokensAfter);
  if (tokensBefore !== undefined && tokensAfter !== undefined) {
    instruments.passSavedTokens.observe({ strategy }, tokensBefore - tokensAfter);
  }
  if (prefixTokens !== undefined && tokensBefore !== undefined && tokensBefore > 0)
    instruments.passKeptPrefix.observe({ strategy }, prefixTokens / tokensBefore);
  if (archived !== undefined) instruments.archivedMessages.inc({ strategy }, archived);
}

/** Counts both policies or neither, because the metrics compare them pass by pass. */
function countShadow({ live, shadow }: EventOf<'pass_shadowed'>, instruments: Instruments): void {
  const { strategy, outcome } = shadow ?? { strategy: 'none', outcome: 'error' };
  instruments.shadowPasses.inc({ policy: 'live', strategy: live.strategy, outcome: live.outcome });
  instruments.shadowPasses.inc({ policy: 'shadow', strategy, outcome });
  if (shadow === undefined) return;
  for (const [policy, measure] of Object.entries({ live, shadow })) {
    instruments.shadowTokensBefore.observe({ policy }, measure.tokensBefore);
    instruments.shadowTokensAfter.observe({ policy }, measure.tokensAfter);
    instruments.shadowSummaries.observe({ policy }, measure.summaries);
    instruments.shadowEvictedTokens.inc({ policy }, measure.evictedTokens);
  }
}

/** Fields of one policy. One log line shows both policies: `liveTokensAfter`, `shadowTokensAfter`. */
function describeMeasure(policy: 'live' | 'shadow', measure: PassMeasure): LogLine['fields'] {
  return {
    [`${policy}Outcome`]: measure.outcome,
    [`${policy}Strategy`]: measure.strategy,
    [`${policy}TokensBefore`]: measure.tokensBefore,
    [`${policy}TokensAfter`]: measure.tokensAfter,
    [`${policy}Summaries`]: measure.summaries,
    [`${policy}EvictedTokens`]: measure.evictedTokens,
  };
}

function countSummary(event: EventOf<'summary_ended'>, instruments: Instruments): void {
  const { outcome, durationMs, sourceTokens, tokens, written } = event;
  instruments.summarizationJobs.inc({ outcome });
  instruments.summarizationDuration.observe({ outcome }, toSeconds(durationMs));
  if (written !== undefined) {
    instruments.summariesWritten.inc({ summarizer: written.by, choice: written.isFallback ? 'fallback' : 'first' });
  }
  if (tokens === undefined) return;
  instruments.summarySourceTokens.observe(sourceTokens);
  instruments.summaryTokens.observe(tokens);
}

/** A more urgent reason for compaction ranks higher. */
const STRENGTH: Readonly<Record<Reason, number>> = {
  overflow: 8,
  hard_limit: 7,
  manual: 6,
  token_threshold: 5,
  ratio: 4,
  message_threshold: 3,
  turn_threshold: 2,
  turn_end: 1,
};

/** Counting each reason would count a pass several times, and all combinations would be 256 label values. */
export function findTrigger(reasons: readonly Reason[]): Reason | 'none' {
  const [strongest] = REASONS.filter((reason) => reasons.includes(reason)).toSorted(
    (a, b) => STRENGTH[b] - STRENGTH[a],
  );
  return strongest ?? 'none';
}
