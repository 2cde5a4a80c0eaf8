import { setTimeout as delay } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import type { WorkerEvent } from '../../src/domain/events.ts';
import { REASONS } from '../../src/domain/pass.ts';
import { findTrigger } from '../../src/telemetry/catalogue/pass-events.ts';
import { METRICS, type MetricSpec } from '../../src/telemetry/metric-catalogue.ts';
import { createMetrics, type Metrics } from '../../src/telemetry/metrics.ts';
import { readSeries } from './exposition.ts';
import { samples, scope } from './sample-events.ts';

/** Every series that events move. Buckets are left out, because their sum and count show the same. */
async function readMoved(metrics: Metrics): Promise<Map<string, number>> {
  const series = readSeries((await metrics.render()).body);
  return new Map([...series].filter(([name]) => !/_(nodejs|process)_|_bucket/.test(name)));
}

/** Increments that the events cause, by series. */
async function measureEffect(...events: readonly WorkerEvent[]): Promise<Record<string, number>> {
  const metrics = createMetrics();
  const before = await readMoved(metrics);
  for (const event of events) metrics.listener(event);
  const after = [...(await readMoved(metrics))];
  const moved = after.map(([series, value]) => [series, value - (before.get(series) ?? 0)] as const);
  return Object.fromEntries(moved.filter(([, change]) => change !== 0));
}

const expected: { readonly [Type in WorkerEvent['type']]: Record<string, number> } = {
  turn_claimed: {
    turnfold_turn_wait_seconds_sum: 1.5,
    turnfold_turn_wait_seconds_count: 1,
    'turnfold_turn_suspended_seconds_sum{waits_for="compaction"}': 3,
    'turnfold_turn_suspended_seconds_count{waits_for="compaction"}': 1,
  },
  turn_settled: {
    'turnfold_turns_total{code="step_limit",outcome="failed"}': 1,
    'turnfold_turns_left_context_total{why="refused"}': 1,
    'turnfold_turn_duration_seconds_sum{outcome="failed"}': 2.5,
    'turnfold_turn_duration_seconds_count{outcome="failed"}': 1,
  },
  turn_suspended: { 'turnfold_turn_suspensions_total{waits_for="approval"}': 1 },
  tool_called: {
    'turnfold_tool_calls_total{outcome="invalid_input"}': 1,
    turnfold_tool_call_duration_seconds_sum: 0.25,
    turnfold_tool_call_duration_seconds_count: 1,
  },
  model_called: {
    'turnfold_model_requests_total{model="scripted",outcome="answered",purpose="turn"}': 1,
    'turnfold_model_request_duration_seconds_sum{model="scripted",purpose="turn"}': 4,
    'turnfold_model_request_duration_seconds_count{model="scripted",purpose="turn"}': 1,
    'turnfold_model_requests_over_limit_total{model="scripted",purpose="turn"}': 1,
    'turnfold_model_tokens_total{direction="input",model="scripted",purpose="turn"}': 32_500,
    'turnfold_model_tokens_total{direction="output",model="scripted",purpose="turn"}': 700,
    'turnfold_model_cached_tokens_total{model="scripted",purpose="turn"}': 30_000,
    'turnfold_model_cost_dollars_total{model="scripted",purpose="turn"}': 0.25,
    'turnfold_model_first_text_seconds_sum{model="scripted"}': 0.8,
    'turnfold_model_first_text_seconds_count{model="scripted"}': 1,
    'turnfold_model_retry_after_seconds_sum{model="scripted",purpose="turn"}': 30,
    'turnfold_model_retry_after_seconds_count{model="scripted",purpose="turn"}': 1,
    'turnfold_model_size_estimate_ratio_sum{model="scripted",purpose="turn"}': 33_000 / 32_500,
    'turnfold_model_size_estimate_ratio_count{model="scripted",purpose="turn"}': 1,
  },
  model_passed_over: { 'turnfold_model_fallbacks_total{model="scripted",outcome="retry",purpose="turn"}': 1 },
  count_ignored: { 'turnfold_model_ignored_counts_total{model="scripted",why="excess"}': 1 },
  pass_requested: {
    'turnfold_pass_requests_total{reason="ratio"}': 1,
    'turnfold_pass_requests_total{reason="hard_limit"}': 1,
  },
  pass_backed_off: { 'turnfold_pass_backoffs_total{why="no_gain"}': 1 },
  pass_taken_over: { 'turnfold_pass_fallbacks_total{fallback="taken_over"}': 1 },
  pass_fanned_out: { turnfold_pass_fan_out_jobs_sum: 3, turnfold_pass_fan_out_jobs_count: 1 },
  pass_proposed: { 'turnfold_pass_proposals_total{strategy="summarize",trigger="ratio"}': 1 },
  approval_refused: { 'turnfold_approvals_refused_total{code="invalid_input"}': 1 },
  pass_ended: {
    'turnfold_passes_total{outcome="committed",strategy="summarize",trigger="hard_limit"}': 1,
    'turnfold_pass_duration_seconds_sum{outcome="committed",strategy="summarize"}': 7,
    'turnfold_pass_duration_seconds_count{outcome="committed",strategy="summarize"}': 1,
    turnfold_pass_sequences_sum: 5,
    turnfold_pass_sequences_count: 1,
    'turnfold_pass_before_tokens_sum{strategy="summarize"}': 30_000,
    'turnfold_pass_before_tokens_count{strategy="summarize"}': 1,
    'turnfold_pass_after_tokens_sum{strategy="summarize"}': 12_000,
    'turnfold_pass_after_tokens_count{strategy="summarize"}': 1,
    'turnfold_pass_saved_tokens_sum{strategy="summarize"}': 18_000,
    'turnfold_pass_kept_prefix_ratio_count{strategy="summarize"}': 1,
    'turnfold_pass_kept_prefix_ratio_sum{strategy="summarize"}': 0.2,
    'turnfold_pass_saved_tokens_count{strategy="summarize"}': 1,
    'turnfold_archived_messages_total{strategy="summarize"}': 41,
    'turnfold_pass_fallbacks_total{fallback="summaries_missing"}': 1,
    'turnfold_pass_fallbacks_total{fallback="floor_relaxed"}': 1,
    turnfold_backoff_starts_total: 1,
  },
  pass_shadowed: {
    'turnfold_shadow_passes_total{outcome="committed",policy="live",strategy="summarize"}': 1,
    'turnfold_shadow_passes_total{outcome="infeasible",policy="shadow",strategy="none"}': 1,
    'turnfold_shadow_before_tokens_sum{policy="live"}': 30_000,
    'turnfold_shadow_before_tokens_count{policy="live"}': 1,
    'turnfold_shadow_before_tokens_sum{policy="shadow"}': 31_000,
    'turnfold_shadow_before_tokens_count{policy="shadow"}': 1,
    'turnfold_shadow_after_tokens_sum{policy="live"}': 12_000,
    'turnfold_shadow_after_tokens_count{policy="live"}': 1,
    'turnfold_shadow_after_tokens_sum{policy="shadow"}': 31_000,
    'turnfold_shadow_after_tokens_count{policy="shadow"}': 1,
    'turnfold_shadow_summaries_sum{policy="live"}': 5,
    'turnfold_shadow_summaries_count{policy="live"}': 1,
    'turnfold_shadow_summaries_sum{policy="shadow"}': 2,
    'turnfold_shadow_summaries_count{policy="shadow"}': 1,
    'turnfold_shadow_evicted_tokens_total{policy="shadow"}': 70,
  },
  summary_ended: {
    'turnfold_summarization_jobs_total{outcome="written"}': 1,
    'turnfold_summarization_job_duration_seconds_sum{outcome="written"}': 0.3,
    'turnfold_summarization_job_duration_seconds_count{outcome="written"}': 1,
    'turnfold_summaries_written_total{choice="fallback",summarizer="structural"}': 1,
    turnfold_summarization_source_tokens_sum: 6_000,
    turnfold_summarization_source_tokens_count: 1,
    turnfold_summarization_result_tokens_sum: 900,
    turnfold_summarization_result_tokens_count: 1,
  },
  version_refused: { 'turnfold_versions_refused_total{by="provider"}': 1 },
  lease_lost: { 'turnfold_leases_lost_total{what="turn",why="fenced"}': 1 },
  write_deferred: { 'turnfold_writes_deferred_total{write="step"}': 1 },
  deferred_write_succeeded: {},
  log_packed: {
    turnfold_log_packed_entries_total: 40,
    'turnfold_log_packed_bytes_total{size="before"}': 20_000,
    'turnfold_log_packed_bytes_total{size="after"}': 4_000,
  },
  conversation_expired: { turnfold_conversations_expired_total: 1 },
  redis_nearly_full: {},
  redis_not_persistent: {},
  policy_warned: {},
  model_retires: {},
  inbox_job_taken: { 'turnfold_inbox_jobs_total{code="invalid_input",outcome="refused"}': 1 },
  webhook_sent: { 'turnfold_webhook_requests_total{event="turn.settled",outcome="failed"}': 1 },
  webhook_events_lost: { turnfold_webhook_losses_total: 1 },
  webhook_set_aside: { turnfold_webhooks_set_aside_total: 1 },
  database_lost: { 'turnfold_database_losses_total{found="older"}': 1 },
  event_loop_blocked: {},
  worker_lost: {
    'turnfold_workers_lost_total{life="short",role="turn"}': 1,
    'turnfold_workers_lost_total{life="short",role="compaction"}': 1,
  },
  suspect_process_ended: { 'turnfold_suspect_processes_total{outcome="died"}': 1 },
  lease_returned: { 'turnfold_leases_returned_total{cut_off="true",what="turn"}': 1 },
  job_reclaimed: { 'turnfold_job_reclaims_total{role="compaction"}': 1 },
  record_quarantined: { 'turnfold_records_quarantined_total{set="ready"}': 1 },
  job_dropped: { 'turnfold_jobs_dropped_total{queue="turn"}': 1 },
  worker_failed: { 'turnfold_worker_failures_total{where="sweeper"}': 1 },
};

const { durationMs: _durationMs, ...unmeasuredPass } = samples.pass_ended;
const { shadow: _shadow, ...failedShadow } = samples.pass_shadowed;
const { tokens: _tokens, ...emptySummary } = samples.summary_ended;
const claim = { type: 'turn_claimed', ...scope, agent: 'support' } as const;

test.each(Object.values(samples).map((event) => [event.type, event] as const))(
  'the worker event %s changes exactly the metrics that belong to it',
  async (type, event) => {
    expect(await measureEffect(event)).toEqual(expected[type]);
  },
);

test('the worker events together change every metric except the counter of failed measurements', async () => {
  const moved = Object.keys(await measureEffect(...Object.values(samples), { ...samples.turn_claimed, attempt: 2 }));
  const still = Object.values(METRICS).filter(({ name }) => !moved.some((series) => series.startsWith(name)));
  expect(still).toEqual([METRICS.measureFailures]);
});

test.each<[string, WorkerEvent, Record<string, number>]>([
  ['a second claim of a turn counts as a reclaim', { ...claim, attempt: 2 }, { turnfold_turn_reclaims_total: 1 }],
  ['a claim that resumes a suspended turn changes no metric', { ...claim, attempt: 1 }, {}],
  [
    'a turn that a claim settles as `poison` records no duration',
    { type: 'turn_settled', ...scope, outcome: 'failed', code: 'poison' },
    { 'turnfold_turns_total{code="poison",outcome="failed"}': 1 },
  ],
  [
    'a completed turn counts under the code `none`',
    { type: 'turn_settled', ...scope, outcome: 'completed' },
    { 'turnfold_turns_total{code="none",outcome="completed"}': 1 },
  ],
  [
    'the metrics of a failed model call have a duration and no tokens',
    {
      type: 'model_called',
      ...scope,
      purpose: 'summary',
      model: 'm',
      outcome: 'retry',
      durationMs: 1e3,
      tokens: 10,
      isOverLimit: false,
    },
    {
      'turnfold_model_request_duration_seconds_count{model="m",purpose="summary"}': 1,
      'turnfold_model_request_duration_seconds_sum{model="m",purpose="summary"}': 1,
      'turnfold_model_requests_total{model="m",outcome="retry",purpose="summary"}': 1,
    },
  ],
  [
    'the metrics of a shadow policy (measured, never applied) have no sizes if the measurement failed',
    failedShadow,
    {
      'turnfold_shadow_passes_total{outcome="committed",policy="live",strategy="summarize"}': 1,
      'turnfold_shadow_passes_total{outcome="error",policy="shadow",strategy="none"}': 1,
    },
  ],
])('the effect of one worker event on the metrics: %s', async (_, event, effect) => {
  expect(await measureEffect(event)).toEqual(effect);
});

test.each<[string, WorkerEvent, RegExp]>([
  [
    'a compaction pass that created no version of the context records no sizes in the metrics',
    { ...samples.pass_ended, outcome: 'no_gain' },
    /tokens|archived/,
  ],
  [
    'a compaction pass that ended at its claim records no duration in the metrics',
    { ...unmeasuredPass, outcome: 'failed' },
    /pass_duration/,
  ],
  [
    'a summary that the model refused to write records no sizes in the metrics',
    { ...emptySummary, outcome: 'refused' },
    /tokens/,
  ],
])('metrics that one worker event does not change: %s', async (_, event, absent) => {
  expect(Object.keys(await measureEffect(event)).filter((series) => absent.test(series))).toEqual([]);
});

test('a chain of models counts requests under the id of the chain, and tokens under the model that answered', async () => {
  const effect = Object.keys(await measureEffect({ ...samples.model_called, model: 'a|b', answeredBy: 'b' }));
  const namesOf = (model: string): string[] => {
    const series = effect.filter((name) => name.includes(`model="${model}"`));
    return [...new Set(series.map((name) => name.replace(/^turnfold_model_|(?:_sum|_count)?\{.*/g, '')))].toSorted();
  };
  expect(namesOf('b')).toEqual(['cached_tokens_total', 'cost_dollars_total', 'size_estimate_ratio', 'tokens_total']);
  expect(namesOf('a|b')).toEqual([
    'first_text_seconds',
    'request_duration_seconds',
    'requests_over_limit_total',
    'requests_total',
    'retry_after_seconds',
  ]);
});

test('the label trigger of a compaction pass is its strongest reason, whatever the order of the reasons', () => {
  const byStrength = [
    'overflow',
    'hard_limit',
    'manual',
    'token_threshold',
    'ratio',
    'message_threshold',
    'turn_threshold',
    'turn_end',
    'none',
  ];
  let left = [...REASONS];
  for (const strongest of byStrength) {
    expect(findTrigger(left)).toBe(strongest);
    expect(findTrigger(left.toReversed())).toBe(strongest);
    left = left.filter((other) => other !== strongest);
  }
});

test('the metrics page names its format, and every metric has the prefix of turnfold or BullMQ', async () => {
  const { contentType, body } = await createMetrics().render();
  expect(contentType).toBe('text/plain; version=0.0.4; charset=utf-8');
  expect([...readSeries(body).keys()].filter((name) => !/^(turnfold|bullmq)_/.test(name))).toEqual([]);
});

test('the metrics page shows the whole length of a block of the event loop', async () => {
  const metrics = createMetrics();
  const block = async (): Promise<number | undefined> => {
    await delay(20); // The lag timer of prom-client ticks every 10 ms, and measures from its first tick.
    const from = performance.now();
    while (performance.now() - from < 300);
    await delay(1); // The late tick runs before this timer.
    return readSeries((await metrics.render()).body).get('turnfold_nodejs_eventloop_lag_max_seconds');
  };
  await expect.poll(block, { timeout: 60_000 }).toBeGreaterThan(0.25);
});

test('the metrics page escapes quotes and line feeds in label values', async () => {
  const metrics = createMetrics();
  metrics.listener({ type: 'worker_failed', where: 'a "b" \\ c\nd', error: undefined });
  const series = await readMoved(metrics);
  expect(series.get(String.raw`turnfold_worker_failures_total{where="a \"b\" \\ c\nd"}`)).toBe(1);
});

test('series with known labels start at 0, so that `rate` counts the first increase', async () => {
  const series = await readMoved(createMetrics());
  for (const { name, type, start = [] } of Object.values<MetricSpec>(METRICS)) {
    for (const labels of start) {
      const pairs = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
      const set = pairs.length === 0 ? '' : `{${pairs.toSorted().join(',')}}`;
      expect(series.get(`${name}${type === 'histogram' ? '_count' : ''}${set}`), name + set).toBe(0);
    }
  }
  expect(series.get('turnfold_turns_total{code="poison",outcome="failed"}')).toBe(0);
});

test('the first request to a model starts a series for each of its outcomes', async () => {
  const metrics = createMetrics();
  metrics.listener(samples.model_called);
  const series = await readMoved(metrics);
  expect(series.get('turnfold_model_requests_total{model="scripted",outcome="fatal",purpose="turn"}')).toBe(0);
});

test('two metrics pages in one process do not share their counts', async () => {
  const [one, other] = [createMetrics(), createMetrics()];
  one.listener(samples.lease_lost);
  const lost = 'turnfold_leases_lost_total{what="turn",why="fenced"}';
  expect([(await readMoved(one)).get(lost), (await readMoved(other)).get(lost)]).toEqual([1, 0]);
});

test('no label on the metrics page contains an id from an event', async () => {
  const metrics = createMetrics();
  for (const event of Object.values(samples)) metrics.listener(event);
  expect([...(await readMoved(metrics)).keys()].join()).not.toMatch(/471[123]|acme|read_file/);
});

test('500 simultaneous scrapes share one rendering, and the next scrape renders again', async () => {
  const metrics = createMetrics();
  const render = vi.spyOn(metrics.registry, 'metrics');
  const pages = await Promise.all(Array.from({ length: 500 }, () => metrics.render()));
  expect(render).toHaveBeenCalledTimes(1);
  expect(new Set(pages.map(({ body }) => body)).size).toBe(1);
  await metrics.render();
  expect(render).toHaveBeenCalledTimes(2);
});
