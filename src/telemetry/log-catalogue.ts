import { describeLoss as describeDatabaseLoss } from '../domain/database-loss.ts';
import { describeBlock } from '../domain/event-loop.ts';
import type { EventScope, ModelOutcome, WorkerEvent } from '../domain/events.ts';
import type { PassMeasure } from '../domain/pass-events.ts';

type EventOf<Type extends WorkerEvent['type']> = Extract<WorkerEvent, { type: Type }>;

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;
  /** Error of the event. The logger leaves out its message if that message could quote texts of a conversation. */
  readonly error?: unknown;
}

type LogLines = { readonly [Type in WorkerEvent['type']]: (event: EventOf<Type>) => LogLine };

const SIZES = ['tokensBefore', 'tokensAfter', 'archived', 'sequences'] as const;

/** Outcomes of a model call that are not failures of the model. */
const QUIET: ReadonlySet<ModelOutcome> = new Set(['answered', 'lost', 'stopped']);

const LOSSES = {
  canceled: 'was canceled while it ran',
  expired: 'was not renewed in time, so its lease expired. Another worker may continue it',
  gone: 'was erased while it ran',
  unclaimed: 'is not claimed in the database any more, because the database was emptied, restored or replaced',
  fenced: 'was taken over by another worker, or has ended',
} as const;

function describeLoss({ what, why = 'fenced' }: EventOf<'lease_lost'>): string {
  return `${why === 'canceled' ? '' : 'lease lost: '}${what} ${LOSSES[why]}`;
}

const IGNORED = {
  excess: 'token count of the provider not used: no tokenizer needs so many tokens',
  truncated: 'the provider cuts requests to its own window without an error: set windowTokens of the model',
} as const;

const SUSPECT_LEVELS = { ended: 'info', stopped: 'info', died: 'warn', blocked: 'warn', not_started: 'error' } as const;

/** The log line of each worker event. Single steps, and passes that changed nothing, are logged at `debug`. */
const LOG_LINES: LogLines = {
  turn_claimed: ({ agent, attempt, waitMs }) => ({
    level: attempt > 1 ? 'warn' : 'debug',
    message: attempt > 1 ? 'turn claimed again: earlier claims of it ended without a recorded outcome' : 'turn claimed',
    fields: { agent, attempt, waitMs },
  }),
  turn_settled: ({ outcome, code, leaves, durationMs }) => ({
    level: outcome === 'failed' ? 'warn' : 'info',
    message: `turn ${outcome}`,
    fields: { code, leaves, durationMs },
  }),
  turn_suspended: (event) => ({
    level: 'info',
    message: `turn waits for ${event.for}`,
    fields: { waitMs: event.waitMs },
  }),
  tool_called: ({ name, outcome, durationMs }) => ({
    level: 'debug',
    message: 'tool called',
    fields: { tool: name, outcome, durationMs },
  }),
  model_called: (event) => ({
    level: QUIET.has(event.outcome) ? 'debug' : 'warn',
    message: 'model called',
    fields: {
      ...pick(event, 'purpose', 'model', 'answeredBy', 'outcome', 'why', 'code', 'durationMs', 'tokens', 'isOverLimit'),
      ...pick(event, 'inputTokens', 'outputTokens'),
    },
  }),
  pass_requested: ({ reasons, isJoined }) => ({
    level: 'debug',
    message: isJoined ? 'further reasons to compact added to the open compaction pass' : 'compaction pass requested',
    fields: { reasons },
  }),
  model_passed_over: ({ purpose, model, outcome }) => ({
    level: 'warn',
    message: 'model failed, next model of the chain called',
    fields: { purpose, model, outcome },
  }),
  count_ignored: ({ model, why, reportedTokens, countedTokens }) => ({
    level: 'warn',
    message: IGNORED[why],
    fields: { model, why, reportedTokens, countedTokens },
  }),
  pass_backed_off: ({ why }) => ({
    level: 'debug',
    message: 'compaction pass not requested: it would gain nothing now',
    fields: { why },
  }),
  pass_taken_over: () => ({
    level: 'warn',
    message: 'compaction pass taken over by a waiting turn',
    fields: {},
  }),
  pass_fanned_out: ({ jobs, sequences }) => ({
    level: 'debug',
    message: 'compaction pass waits for its summarization jobs',
    fields: { jobs, sequences },
  }),
  pass_proposed: (event) => ({
    level: 'info',
    message: 'compaction pass waits for approval',
    fields: pick(event, 'strategy', 'reasons', ...SIZES),
  }),
  approval_refused: ({ code, field, message }) => ({
    level: 'warn',
    message: 'approval of a proposed compaction could not be carried out',
    fields: { code, field, why: message },
  }),
  pass_ended: (event) => ({
    level: PASS_LEVELS[event.outcome],
    message: 'compaction pass ended',
    fields: pick(event, 'outcome', 'code', 'strategy', 'reasons', 'durationMs', 'version', ...SIZES),
  }),
  pass_shadowed: ({ live, shadow }) => ({
    level: shadow === undefined ? 'debug' : 'info',
    message: shadow === undefined ? 'shadow policy could not be measured' : 'shadow policy measured',
    fields: { ...describeMeasure('live', live), ...(shadow && describeMeasure('shadow', shadow)) },
  }),
  summary_ended: ({ outcome, durationMs, sourceTokens, tokens, written, why }) => ({
    level: outcome === 'failed' || outcome === 'refused' || written?.isFallback === true ? 'warn' : 'debug',
    message: 'summarization job ended',
    fields: { outcome, durationMs, sourceTokens, tokens, ...written, why },
  }),
  version_refused: ({ by, version, codes, message, form }) => ({
    level: 'error',
    message:
      by === 'provider'
        ? 'context version rolled back: the provider refused it'
        : 'context version not committed: its messages break a rule of the provider format',
    fields: { version, codes, why: message, form },
  }),
  lease_lost: (event) => ({
    level: event.why === 'canceled' ? 'info' : 'warn',
    message: describeLoss(event),
    fields: { why: event.why },
  }),
  database_lost: (event) => ({
    level: 'error',
    message: describeDatabaseLoss(event),
    fields: { found: event.found, formerId: event.formerId, behindMs: event.behindMs },
  }),
  write_deferred: ({ write, code }) => ({
    level: 'warn',
    message: 'write deferred: redis refuses writes, the worker retries',
    fields: { write, code },
  }),
  deferred_write_succeeded: ({ write, deferredMs }) => ({
    level: 'info',
    message: 'deferred write succeeded',
    fields: { write, deferredMs },
  }),
  suspect_process_ended: ({ outcome, durationMs, exitCode, signal, error }) => ({
    level: SUSPECT_LEVELS[outcome],
    message: `process of a suspect turn: ${outcome.replace('_', ' ')}`,
    fields: { outcome, durationMs, exitCode, signal },
    error,
  }),
  lease_returned: ({ what, isCutOff }) => ({
    level: 'info',
    message: isCutOff
      ? `${what} handed back: its call was aborted at the shutdown deadline`
      : `${what} handed back between two steps: the worker stops, or cannot run it now`,
    fields: { isCutOff },
  }),
  job_reclaimed: ({ queue }) => ({
    level: 'warn',
    message: 'job queued again: its worker died, froze, lost redis or stopped',
    fields: { queue },
  }),
  worker_lost: ({ worker, roles, livedMs }) => ({
    level: 'warn',
    message: 'worker lost: it disappeared without an orderly stop',
    fields: { worker, roles, livedMs },
  }),
  event_loop_blocked: ({ ms, cause }) => ({
    level: 'warn',
    message: `${describeBlock({ ms, cause })}: no other work of this process went on meanwhile`,
    fields: { blockedMs: Math.round(ms) },
  }),
  conversation_expired: ({ removedKeys }) => ({
    level: 'info',
    message: 'conversation erased: its idle TTL passed',
    fields: { removedKeys },
  }),
  log_packed: ({ entries, bytes, packedBytes }) => ({
    level: 'debug',
    message: 'log packed: old messages were compressed',
    fields: { entries, bytes, packedBytes },
  }),
  record_quarantined: ({ shard, set, name, why }) => ({
    level: 'error',
    message: 'unreadable record set aside, other records of its shard are not affected',
    fields: { shard, set, name: clip(name), why: clip(why) },
  }),
  job_dropped: ({ queue, job, error }) => ({
    level: 'error',
    message: 'unreadable job removed',
    fields: { queue, job: clip(job) },
    error,
  }),
  inbox_job_taken: ({ job, outcome, code, error }) => ({
    level: outcome === 'refused' ? 'warn' : 'debug',
    message: outcome === 'refused' ? 'inbox job refused, its producer must correct it' : `inbox job ${outcome}`,
    fields: { job: clip(job), code },
    error,
  }),
  redis_nearly_full: ({ usedBytes, limitBytes }) => ({
    level: 'warn',
    message: 'memory of redis is nearly full: at maxmemory all turns stop',
    fields: { usedBytes, limitBytes },
  }),
  redis_not_persistent: () => ({
    level: 'warn',
    message: 'redis has no append-only file: a restart of redis loses accepted turns. Set appendonly yes',
    fields: {},
  }),
  policy_warned: ({ message }) => ({
    level: 'warn',
    message: 'policy loaded with warnings',
    fields: { why: message },
  }),
  model_retires: ({ model, retiresOn, daysLeft }) => ({
    level: 'warn',
    message: 'model will be retired by its provider, use another model',
    fields: { model, retiresOn, daysLeft },
  }),
  webhook_sent: ({ webhook, event, outcome, why, durationMs }) => ({
    level: outcome === 'failed' ? 'warn' : 'debug',
    message: `webhook ${outcome}`,
    fields: { webhook, webhookEvent: event, why, durationMs },
  }),
  webhook_events_lost: ({ webhook }) => ({
    level: 'error',
    message: 'webhook missed events: they expired before they could be sent',
    fields: { webhook },
  }),
  webhook_set_aside: ({ webhook, why }) => ({
    level: 'error',
    message: 'webhook set aside: nothing is sent until an operator retries it',
    fields: { webhook, why },
  }),
  worker_failed: ({ where, error }) => ({ level: 'error', message: 'worker failed', fields: { where }, error }),
};

/** Maximum length of a name or reason in a log line, because a name in a corrupt record may have any length. */
const MOST_CHARS = 300;

function clip(text: string): string {
  return text.length <= MOST_CHARS ? text : `${text.slice(0, MOST_CHARS)}…`;
}

/** Creates the log line of an event, with the ids of its turn or conversation. */
export function describeEvent(event: WorkerEvent): LogLine {
  // TypeScript cannot express that the entry belongs to the type of this event.
  const describe = LOG_LINES[event.type] as (event: WorkerEvent) => LogLine;
  const line = describe(event);
  return { ...line, fields: { event: event.type, ...readScope(event), ...line.fields } };
}

export function readScope({ tenant, conversation, turn, passId }: Partial<EventScope>): LogLine['fields'] {
  return { tenant, conversation, turn, pass: passId };
}

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

/** Puts the sizes under the live and the shadow policy into one log line: `liveTokensAfter`, `shadowTokensAfter`. */
function describeMeasure(
  policy: 'live' | 'shadow',
  { outcome, strategy, tokensBefore, tokensAfter, summaries, evictedTokens }: PassMeasure,
): LogLine['fields'] {
  return {
    [`${policy}Outcome`]: outcome,
    [`${policy}Strategy`]: strategy,
    [`${policy}TokensBefore`]: tokensBefore,
    [`${policy}TokensAfter`]: tokensAfter,
    [`${policy}Summaries`]: summaries,
    [`${policy}EvictedTokens`]: evictedTokens,
  };
}

/** Copies the named fields of an event. A new field of an event does not reach the logs by accident. */
function pick<Event, Name extends keyof Event>(event: Event, ...names: readonly Name[]): Pick<Event, Name> {
  return Object.fromEntries(names.map((name) => [name, event[name]])) as Pick<Event, Name>;
}
