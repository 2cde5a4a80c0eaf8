import { type EventListener, MODEL_OUTCOMES, type WorkerEvent } from '../domain/events.ts';
import { REASONS, type Reason } from '../domain/pass.ts';
import type { Instruments } from './instruments.ts';

type EventOf<Type extends WorkerEvent['type']> = Extract<WorkerEvent, { type: Type }>;
type Recorders = { readonly [Type in WorkerEvent['type']]: (instruments: Instruments, event: EventOf<Type>) => void };

/**
 * Workers that disappear within this time in ms probably crashed, because autoscaling keeps a worker for at least five
 * minutes.
 */
const SHORT_LIFE_MS = 300_000;

/** Updates the metrics for each type of event. The compiler reports a type of event without an entry. */
const RECORDERS: Recorders = {
  turn_claimed: ({ turnWait, turnSuspended, turnReclaims }, { waitMs, suspended, attempt }) => {
    if (waitMs !== undefined) turnWait.observe(toSeconds(waitMs));
    if (suspended !== undefined) turnSuspended.observe({ waits_for: suspended.for }, toSeconds(suspended.ms));
    if (attempt > 1) turnReclaims.inc();
  },
  turn_settled: ({ turns, turnsLeft, turnDuration }, { outcome, code, leaves, durationMs }) => {
    turns.inc({ outcome, code: code ?? 'none' });
    if (leaves !== undefined) turnsLeft.inc({ why: leaves });
    if (durationMs !== undefined) turnDuration.observe({ outcome }, toSeconds(durationMs));
  },
  turn_suspended: ({ turnSuspensions }, event) => turnSuspensions.inc({ waits_for: event.for }),
  tool_called: ({ toolCalls, toolCallDuration }, { outcome, durationMs }) => {
    toolCalls.inc({ outcome });
    toolCallDuration.observe(toSeconds(durationMs));
  },
  model_called: recordModelCall,
  model_passed_over: ({ modelFallbacks }, { purpose, model, outcome }) =>
    modelFallbacks.inc({ purpose, model, outcome }),
  count_ignored: ({ modelIgnoredCounts }, { model, why }) => modelIgnoredCounts.inc({ model, why }),
  pass_requested: ({ passRequests }, { reasons }) => {
    for (const reason of reasons) passRequests.inc({ reason });
  },
  pass_backed_off: ({ passBackoffs }, { why }) => passBackoffs.inc({ why }),
  pass_taken_over: ({ passFallbacks }) => passFallbacks.inc({ fallback: 'taken_over' }),
  pass_fanned_out: ({ passFanOut }, { jobs }) => passFanOut.observe(jobs),
  pass_proposed: ({ passProposals }, { strategy, reasons }) =>
    passProposals.inc({ strategy, trigger: findTrigger(reasons) }),
  approval_refused: ({ approvalsRefused }, { code }) => approvalsRefused.inc({ code }),
  pass_ended: recordPass,
  pass_shadowed: recordShadow,
  summary_ended: recordSummary,
  version_refused: ({ versionsRefused }, { by }) => versionsRefused.inc({ by }),
  lease_lost: ({ leasesLost }, { what, why }) => leasesLost.inc({ what, why: why ?? 'unknown' }),
  database_lost: ({ databaseLosses }, { found }) => databaseLosses.inc({ found }),
  write_deferred: ({ writesDeferred }, { write }) => writesDeferred.inc({ write }),
  deferred_write_succeeded: () => undefined,
  lease_returned: ({ leasesReturned }, { what, isCutOff }) => leasesReturned.inc({ what, cut_off: String(isCutOff) }),
  suspect_process_ended: ({ suspectProcesses }, { outcome }) => suspectProcesses.inc({ outcome }),
  job_reclaimed: ({ jobReclaims }, { queue }) => jobReclaims.inc({ role: queue }),
  worker_lost: ({ workersLost }, { roles, livedMs }) => {
    for (const role of roles) workersLost.inc({ role, life: livedMs < SHORT_LIFE_MS ? 'short' : 'long' });
  },
  event_loop_blocked: () => undefined, // The histogram of Node.js shows each delay.
  conversation_expired: ({ conversationsExpired }) => conversationsExpired.inc(),
  log_packed: ({ logEntriesPacked, logBytesPacked }, { entries, bytes, packedBytes }) => {
    logEntriesPacked.inc(entries);
    logBytesPacked.inc({ size: 'before' }, bytes);
    logBytesPacked.inc({ size: 'after' }, packedBytes);
  },
  record_quarantined: ({ recordsQuarantined }, event) => recordsQuarantined.inc({ set: event.set }),
  job_dropped: ({ jobsDropped }, { queue }) => jobsDropped.inc({ queue }),
  redis_nearly_full: () => undefined,
  redis_not_persistent: () => undefined,
  policy_warned: () => undefined,
  model_retires: () => undefined,
  inbox_job_taken: ({ inboxJobs }, { outcome, code }) => inboxJobs.inc({ outcome, code: code ?? 'none' }),
  webhook_sent: ({ webhookRequests }, { event, outcome }) => webhookRequests.inc({ event, outcome }),
  webhook_events_lost: ({ webhookLosses }) => webhookLosses.inc(),
  webhook_set_aside: ({ webhooksSetAside }) => webhooksSetAside.inc(),
  worker_failed: ({ workerFailures }, { where }) => workerFailures.inc({ where }),
};

export function recordEvents(instruments: Instruments): EventListener {
  return (event) => {
    // TypeScript cannot express that the entry belongs to the type of this event.
    const record = RECORDERS[event.type] as (instruments: Instruments, event: WorkerEvent) => void;
    record(instruments, event);
  };
}

function recordModelCall(instruments: Instruments, event: EventOf<'model_called'>): void {
  const { purpose, model, outcome, durationMs, firstTextMs, retryAfterMs, isOverLimit } = event;
  startOutcomes(instruments, { purpose, model });
  instruments.modelRequests.inc({ purpose, model, outcome });
  instruments.modelRequestDuration.observe({ purpose, model }, toSeconds(durationMs));
  if (firstTextMs !== undefined) instruments.modelFirstText.observe({ model }, toSeconds(firstTextMs));
  if (retryAfterMs !== undefined) instruments.modelRetryAfter.observe({ purpose, model }, toSeconds(retryAfterMs));
  instruments.modelRequestsOverLimit.inc({ purpose, model }, isOverLimit ? 1 : 0);
  recordUsage(instruments, event);
}

/** Records tokens and cost under the fallback model that answered. The cost uses the highest prices of all fallback models. */
function recordUsage(instruments: Instruments, event: EventOf<'model_called'>): void {
  const { purpose, answeredBy: model = event.model, tokens, inputTokens, outputTokens, cachedTokens, cost } = event;
  if (inputTokens !== undefined) instruments.modelTokens.inc({ purpose, model, direction: 'input' }, inputTokens);
  if (outputTokens !== undefined) instruments.modelTokens.inc({ purpose, model, direction: 'output' }, outputTokens);
  if (cachedTokens !== undefined) instruments.modelCachedTokens.inc({ purpose, model }, cachedTokens);
  if (cost !== undefined) instruments.modelCost.inc({ purpose, model }, cost);
  if (inputTokens !== undefined && inputTokens > 0) {
    instruments.modelSizeEstimate.observe({ purpose, model }, tokens / inputTokens);
  }
}

/**
 * Creates all outcome series of a model with 0 at its first call. Otherwise Prometheus' `rate` would miss the first
 * failure.
 */
function startOutcomes({ modelRequests }: Instruments, of: { purpose: string; model: string }): void {
  for (const outcome of MODEL_OUTCOMES) modelRequests.inc({ ...of, outcome }, 0);
}

/**
 * Records an ended compaction pass. Sizes are recorded only if the pass created a version, because otherwise the
 * context is unchanged.
 */
function recordPass(instruments: Instruments, event: EventOf<'pass_ended'>): void {
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

/**
 * Records the sizes under the live and the shadow policy together or not at all, because the metrics compare the
 * policies pass by pass.
 */
function recordShadow(instruments: Instruments, { live, shadow }: EventOf<'pass_shadowed'>): void {
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

function recordSummary(instruments: Instruments, event: EventOf<'summary_ended'>): void {
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

function toSeconds(durationMs: number): number {
  return durationMs / 1_000;
}

/**
 * Rank of the reasons for a compaction. A reason that makes compaction more urgent, such as a hard limit, ranks higher.
 */
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

/**
 * Chooses the reason under which a compaction pass is counted. A label with all combinations of reasons would have 256
 * values, and counting each reason would count a pass several times.
 */
export function findTrigger(reasons: readonly Reason[]): Reason | 'none' {
  const [strongest] = REASONS.filter((reason) => reasons.includes(reason)).toSorted(
    (a, b) => STRENGTH[b] - STRENGTH[a],
  );
  return strongest ?? 'none';
}
