import { describeLoss as describeDatabaseLoss } from '../../domain/database-loss.ts';
import { describeBlock } from '../../domain/event-loop.ts';
import { TURNFOLD } from '../trace-names.ts';
import { type EventRows, line } from './event-row.ts';

/** A worker that disappears before this age probably crashed, because autoscaling keeps a worker for five minutes. */
const SHORT_LIFE_MS = 300_000;

const LOSSES = {
  canceled: 'was canceled while it ran',
  expired: 'was not renewed in time, so its lease expired. Another worker may continue it',
  gone: 'was erased while it ran',
  unclaimed: 'is not claimed in the database any more, because the database was emptied, restored or replaced',
  fenced: 'was taken over by another worker, or has ended',
} as const;

const SUSPECT_LEVELS = { ended: 'info', stopped: 'info', died: 'warn', blocked: 'warn', not_started: 'error' } as const;

/** Work that is handed back is no error. A lost turn marks its own span, not those of its calls. */
export const WORKER_EVENTS = {
  lease_lost: {
    log: ({ what, why }) =>
      why === 'canceled'
        ? line('info', `${what} ${LOSSES[why]}`, { why })
        : line('warn', `lease lost: ${what} ${LOSSES[why ?? 'fenced']}`, { why }),
    count: ({ what, why = 'unknown' }, { leasesLost }) => leasesLost.inc({ what, why }),
    span: ({ what, why }) => ({
      of: [what],
      attributes: { [TURNFOLD.outcome]: why === 'canceled' ? why : 'lost' },
      error: why === 'canceled' ? null : `lease_${why ?? 'lost'}`,
    }),
  },
  lease_returned: {
    log: ({ what, isCutOff }) =>
      line(
        'info',
        isCutOff
          ? `${what} handed back: its call was aborted at the shutdown deadline`
          : `${what} handed back between two steps: the worker stops, or cannot run it now`,
        { isCutOff },
      ),
    count: ({ what, isCutOff }, { leasesReturned }) => leasesReturned.inc({ what, cut_off: String(isCutOff) }),
    span: ({ what }) => ({ of: [what], attributes: { [TURNFOLD.outcome]: 'handed_back' }, error: null }),
  },
  database_lost: {
    log: (event) =>
      line('error', describeDatabaseLoss(event), {
        found: event.found,
        formerId: event.formerId,
        behindMs: event.behindMs,
      }),
    count: ({ found }, { databaseLosses }) => databaseLosses.inc({ found }),
  },
  write_deferred: {
    log: ({ write, code }) => line('warn', 'write deferred: redis refuses writes, the worker retries', { write, code }),
    count: ({ write }, { writesDeferred }) => writesDeferred.inc({ write }),
  },
  deferred_write_succeeded: {
    log: ({ write, deferredMs }) => line('info', 'deferred write succeeded', { write, deferredMs }),
  },
  suspect_process_ended: {
    log: ({ outcome, durationMs, exitCode, signal, error }) =>
      line(
        SUSPECT_LEVELS[outcome],
        `process of a suspect turn: ${outcome.replace('_', ' ')}`,
        { outcome, durationMs, exitCode, signal },
        error,
      ),
    count: ({ outcome }, { suspectProcesses }) => suspectProcesses.inc({ outcome }),
  },
  job_reclaimed: {
    log: ({ queue }) => line('warn', 'job queued again: its worker died, froze, lost redis or stopped', { queue }),
    count: ({ queue }, { jobReclaims }) => jobReclaims.inc({ role: queue }),
  },
  job_dropped: {
    log: ({ queue, job, error }) => line('error', 'unreadable job removed', { queue, job: clip(job) }, error),
    count: ({ queue }, { jobsDropped }) => jobsDropped.inc({ queue }),
  },
  worker_lost: {
    log: ({ worker, roles, livedMs }) =>
      line('warn', 'worker lost: it disappeared without an orderly stop', { worker, roles, livedMs }),
    count({ roles, livedMs }, { workersLost }) {
      for (const role of roles) workersLost.inc({ role, life: livedMs < SHORT_LIFE_MS ? 'short' : 'long' });
    },
  },
  worker_failed: {
    log: ({ where, error }) => line('error', 'worker failed', { where }, error),
    count: ({ where }, { workerFailures }) => workerFailures.inc({ where }),
  },
  // No metric counts this event, because the event-loop histogram of Node.js shows each delay.
  event_loop_blocked: {
    log: ({ ms, cause }) =>
      line('warn', `${describeBlock({ ms, cause })}: no other work of this process went on meanwhile`, {
        blockedMs: Math.round(ms),
      }),
  },
  conversation_expired: {
    log: ({ removedKeys }) => line('info', 'conversation erased: its idle TTL passed', { removedKeys }),
    count: (_, { conversationsExpired }) => conversationsExpired.inc(),
  },
  log_packed: {
    log: ({ entries, bytes, packedBytes }) =>
      line('debug', 'log packed: old messages were compressed', { entries, bytes, packedBytes }),
    count({ entries, bytes, packedBytes }, { logEntriesPacked, logBytesPacked }) {
      logEntriesPacked.inc(entries);
      logBytesPacked.inc({ size: 'before' }, bytes);
      logBytesPacked.inc({ size: 'after' }, packedBytes);
    },
  },
  record_quarantined: {
    log: ({ shard, set, name, why }) =>
      line('error', 'unreadable record set aside, other records of its shard are not affected', {
        shard,
        set,
        name: clip(name),
        why: clip(why),
      }),
    count: (event, { recordsQuarantined }) => recordsQuarantined.inc({ set: event.set }),
  },
  inbox_job_taken: {
    log: ({ job, outcome, code, error }) =>
      outcome === 'refused'
        ? line('warn', 'inbox job refused, its producer must correct it', { job: clip(job), code }, error)
        : line('debug', `inbox job ${outcome}`, { job: clip(job), code }, error),
    count: ({ outcome, code = 'none' }, { inboxJobs }) => inboxJobs.inc({ outcome, code }),
  },
  redis_nearly_full: {
    log: ({ usedBytes, limitBytes }) =>
      line('warn', 'memory of redis is nearly full: at maxmemory all turns stop', { usedBytes, limitBytes }),
  },
  redis_not_persistent: {
    log: () =>
      line('warn', 'redis has no append-only file: a restart of redis loses accepted turns. Set appendonly yes'),
  },
  policy_warned: { log: ({ message }) => line('warn', 'policy loaded with warnings', { why: message }) },
  model_retires: {
    log: ({ model, retiresOn, daysLeft }) =>
      line('warn', 'model will be retired by its provider, use another model', { model, retiresOn, daysLeft }),
  },
  webhook_sent: {
    log: ({ webhook, event, outcome, why, durationMs }) =>
      line(outcome === 'failed' ? 'warn' : 'debug', `webhook ${outcome}`, {
        webhook,
        webhookEvent: event,
        why,
        durationMs,
      }),
    count: ({ event, outcome }, { webhookRequests }) => webhookRequests.inc({ event, outcome }),
  },
  webhook_events_lost: {
    log: ({ webhook }) => line('error', 'webhook missed events: they expired before they could be sent', { webhook }),
    count: (_, { webhookLosses }) => webhookLosses.inc(),
  },
  webhook_set_aside: {
    log: ({ webhook, why }) =>
      line('error', 'webhook set aside: nothing is sent until an operator retries it', { webhook, why }),
    count: (_, { webhooksSetAside }) => webhooksSetAside.inc(),
  },
} satisfies Partial<EventRows>;

/** Characters of a name that are logged, because a name in a corrupt record may have any length. */
const MOST_CHARS = 300;

function clip(text: string): string {
  return text.length <= MOST_CHARS ? text : `${text.slice(0, MOST_CHARS)}…`;
}
