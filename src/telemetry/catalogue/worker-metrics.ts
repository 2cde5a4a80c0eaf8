import { DATABASE_LOSSES } from '../../domain/database-loss.ts';
import { DEFERRED_WRITES, SUSPECT_OUTCOMES } from '../../domain/events.ts';
import { QUARANTINE_SETS } from '../../domain/quarantine.ts';
import { WEBHOOK_EVENTS, WEBHOOK_OUTCOMES } from '../../domain/webhook.ts';
import { INBOX_QUEUE, QUEUES } from '../../jobs/queues.ts';
import { counter, gauge } from './metric-spec.ts';

/** Roles of workers. A role has the name of its queue. */
const ROLES = Object.values(QUEUES);

/** Places whose series start at 0. Another series begins with its first failure, which Prometheus' `rate` misses. */
const FAILURE_PLACES = [
  'store',
  'connection',
  'close',
  'outage',
  ...ROLES,
  INBOX_QUEUE,
  'sweeper',
  'packing',
  'calibration',
  'gate',
  'presence',
  'lease_thread',
  'database',
  'webhooks',
  'turn end',
  'pass end',
  'stream',
  'shadow',
  'listener',
  'content listener',
];

/** Codes of refused inbox jobs whose series start at 0. */
const INBOX_REFUSALS = [
  'invalid_input',
  'message_too_large',
  'turn_conflict',
  'agent_conflict',
  'mailbox_full',
  'conversation_busy',
] as const;

export const WORKER_METRICS = {
  leasesLost: counter(
    'turnfold_leases_lost_total',
    'Turns and compaction passes that a worker stopped because it no longer owned. gone: erased. canceled: by a client, no failure. unclaimed: Redis lost it.',
    { what: ['turn'], why: ['fenced', 'gone', 'canceled', 'unclaimed', 'expired'] },
    { what: ['pass'], why: ['fenced', 'gone', 'unclaimed'] },
  ),
  databaseLosses: counter(
    'turnfold_database_losses_total',
    'Times that a worker found another, an older or an empty database in Redis. Each worker counts a loss once.',
    { found: DATABASE_LOSSES },
  ),
  writesDeferred: counter(
    'turnfold_writes_deferred_total',
    'Writes that Redis refused and that a worker keeps in memory to retry. A write counts once.',
    { write: DEFERRED_WRITES },
  ),
  leasesReturned: counter(
    'turnfold_leases_returned_total',
    'Unfinished turns, compaction passes and summaries that a worker handed back: it stops, or a turn must run alone. cut_off: a call was aborted.',
    { what: ['turn', 'pass', 'summary'], cut_off: ['true', 'false'] },
  ),
  suspectProcesses: counter(
    'turnfold_suspect_processes_total',
    'Processes that each ran one turn whose workers died twice. died and blocked: the turn may fail as poison. not_started: see the log.',
    { outcome: SUSPECT_OUTCOMES },
  ),
  jobReclaims: counter(
    'turnfold_job_reclaims_total',
    'Jobs queued again because their worker died, froze, lost Redis or stopped.',
    { role: ROLES },
  ),
  workersLost: counter(
    'turnfold_workers_lost_total',
    'Workers that disappeared without an orderly stop. A killed worker counts after 1 to 2 s, a silent one after 20 s. life: short (less than 5 min) or long.',
    { role: ROLES, life: ['short', 'long'] },
  ),
  webhookRequests: counter(
    'turnfold_webhook_requests_total',
    'Requests to webhooks. A failed request is repeated later.',
    { event: Object.keys(WEBHOOK_EVENTS), outcome: WEBHOOK_OUTCOMES },
  ),
  webhookLosses: counter(
    'turnfold_webhook_losses_total',
    'Times that events of a conversation expired before they could be sent to a webhook.',
  ),
  webhooksSetAside: counter(
    'turnfold_webhooks_set_aside_total',
    'Webhooks that were set aside, because they failed for 12 hours or answered 410.',
  ),
  conversationsExpired: counter(
    'turnfold_conversations_expired_total',
    'Conversations erased because their idle TTL (conversationTtl) passed.',
  ),
  logEntriesPacked: counter(
    'turnfold_log_packed_entries_total',
    'Old messages that were compressed in Redis. They can still be read.',
  ),
  logBytesPacked: counter(
    'turnfold_log_packed_bytes_total',
    'Bytes of the messages that were packed, before and after.',
    {
      size: ['before', 'after'],
    },
  ),
  recordsQuarantined: counter(
    'turnfold_records_quarantined_total',
    'Unreadable records set aside, by the Redis set that listed them. key: a whole Redis key was unreadable.',
    { set: QUARANTINE_SETS },
  ),
  jobsDropped: counter('turnfold_jobs_dropped_total', 'Unreadable jobs removed from their queue.', { queue: ROLES }),
  inboxJobs: counter(
    'turnfold_inbox_jobs_total',
    'Jobs taken from the inbox. repeated: the turn was in its mailbox. refused: the producer must correct it. postponed: Redis cannot take it now.',
    { outcome: ['moved', 'repeated'], code: ['none'] },
    { outcome: ['refused'], code: INBOX_REFUSALS },
    { outcome: ['postponed'], code: ['redis_full', 'redis_unavailable', 'accepted_unsure'] },
  ),
  workerFailures: counter(
    'turnfold_worker_failures_total',
    'Failures outside of turns: in a sweep, a job, a summarizer or an unavailable service.',
    { where: FAILURE_PLACES },
  ),
  measureFailures: counter(
    'turnfold_measure_failures_total',
    'Measurements that failed or timed out. Their gauges are absent until the next success.',
    { measure: [] },
  ),
};

/** Gauges that each worker has, so that their sum over all workers has a meaning. */
export const WORKER_GAUGES = {
  concurrency: gauge(
    'turnfold_worker_concurrency',
    'Jobs that this worker runs in parallel, at least one for each queue shard. 0: the worker does not have this role.',
    'role',
  ),
  isMeasuring: gauge(
    'turnfold_worker_measures_shared_state',
    'Set to 1 if this worker measures the shared state and shows its gauges, else 0.',
  ),
  redisUp: gauge(
    'turnfold_redis_up',
    'Set to 1 if Redis answered this worker at the scrape, else 0. For a Cluster: if every master with slots answered.',
  ),
  redisPing: gauge(
    'turnfold_redis_ping_seconds',
    'Time of a ping from this worker to Redis. Absent without an answer.',
  ),
};

/**
 * State that all workers share. Only the owner of the measuring lease shows it, so each series exists once. While the
 * lease moves, two workers or none may show it. Dashboards take the maximum, alerts the maximum over a minute.
 */
export const SHARED_GAUGES = {
  waitingTurns: gauge('turnfold_waiting_turns', 'Conversations whose next turn waits for a worker.'),
  oldestWaitingTurn: gauge(
    'turnfold_oldest_waiting_turn_age_seconds',
    'Longest time that a conversation has waited for a worker to run its next turn.',
  ),
  oldestWaitingJob: gauge(
    'turnfold_oldest_waiting_job_age_seconds',
    'Age of the oldest waiting job of a queue, since it was added or queued again.',
    'queue',
  ),
  missingAgents: gauge(
    'turnfold_agent_missing_seconds',
    'Time for which no running worker has had an agent that work waits for, the longest of all agents. `turnfold doctor` names them.',
  ),
  gatePaused: gauge(
    'turnfold_gate_paused_seconds',
    'Time until the gate of a model lets calls through, while its provider accepts none. Missing if no provider limits the model.',
    'gate',
  ),
  gateWaiting: gauge(
    'turnfold_gate_waiting',
    'Turns and summaries that wait at the gate of a model. Missing if no provider limits the model.',
    'gate',
  ),
  openPasses: gauge(
    'turnfold_open_passes',
    'Compaction passes that are requested or in progress. Passes that wait for approval do not count.',
  ),
  oldestOpenPass: gauge('turnfold_oldest_open_pass_age_seconds', 'Age of the oldest open compaction pass.'),
  failedTurns: gauge(
    'turnfold_failed_turns',
    'Turns that failed in the last seven days, including those that were re-driven.',
  ),
  modelCalibration: gauge(
    'turnfold_model_calibration_ratio',
    "The provider's token count of requests ÷ our count (0.5 to 2). Every estimated size is multiplied by this ratio.",
    'model',
  ),
  overdueEntries: gauge(
    'turnfold_overdue_entries',
    'Turns, compaction passes, scheduled turns and idle conversations that are past their time and that no sweep has processed.',
    'kind',
  ),
  oldestOverdueEntry: gauge(
    'turnfold_oldest_overdue_entry_age_seconds',
    'Delay of the oldest overdue turn, compaction pass or scheduled turn. Idle conversations do not count.',
  ),
  oldestOverdueErase: gauge(
    'turnfold_oldest_overdue_erase_age_seconds',
    'Time since the oldest idle conversation should have been erased. Erases that fail do not count.',
  ),
  quarantinedRecords: gauge(
    'turnfold_quarantined_records',
    'Unreadable records that stay set aside until a person repairs or drops them.',
  ),
  redisMemory: gauge(
    'turnfold_redis_memory_ratio',
    'Memory that Redis uses ÷ its maxmemory. Absent without maxmemory. For a Cluster: the fullest master.',
  ),
  redisMemoryBytes: gauge('turnfold_redis_memory_bytes', 'Memory that Redis uses. For a Cluster: the fullest master.'),
  redisEvictedKeys: gauge(
    'turnfold_redis_evicted_keys',
    'Keys that Redis has evicted since it started. Every evicted key is lost data.',
  ),
  /** Named as in BullMQ's own exporter, so that existing dashboards work. */
  jobs: gauge(
    'bullmq_job_count',
    'Jobs in the queues by state. A due wake, which has no job, counts as a waiting job.',
    'queue',
    'state',
  ),
};
