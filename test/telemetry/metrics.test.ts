import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { REASONS } from '../../src/domain/compaction/thresholds.ts';
import type { WorkerEvent } from '../../src/domain/events.ts';
import { findTrigger } from '../../src/telemetry/event-metrics.ts';
import { METRICS, type MetricSpec } from '../../src/telemetry/metric-catalogue.ts';
import { createMetrics, type Metrics } from '../../src/telemetry/metrics.ts';
import { listSeries, parseExposition } from './exposition.ts';
import { samples, scope } from './sample-events.ts';

/** Every series that events move, buckets aside: their sum and count say the same. */
async function readSeries(metrics: Metrics): Promise<Map<string, number>> {
  const { body } = await metrics.render();
  const own = parseExposition(body).filter(({ name }) => !/_(nodejs|process)_/.test(name));
  return new Map([...listSeries(own)].filter(([series]) => !series.includes('_bucket')));
}

/** Increments that the events cause, by series. */
async function measureEffect(...events: readonly WorkerEvent[]): Promise<Record<string, number>> {
  const metrics = createMetrics();
  const before = await readSeries(metrics);
  for (const event of events) metrics.listener(event);
  const after = [...(await readSeries(metrics))];
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
  write_held: { 'turnfold_writes_held_total{write="step"}': 1 },
  write_taken: {},
  conversation_expired: { turnfold_conversations_expired_total: 1 },
  redis_nearly_full: {},
  policy_warned: {},
  worker_lost: {
    'turnfold_workers_lost_total{life="short",role="turn"}': 1,
    'turnfold_workers_lost_total{life="short",role="compaction"}': 1,
  },
  lease_returned: { 'turnfold_leases_returned_total{cut_off="true",what="turn"}': 1 },
  job_reclaimed: { 'turnfold_job_reclaims_total{role="compaction"}': 1 },
  record_quarantined: { 'turnfold_records_quarantined_total{set="ready"}': 1 },
  job_dropped: { 'turnfold_jobs_dropped_total{queue="turn"}': 1 },
  worker_failed: { 'turnfold_worker_failures_total{where="sweeper"}': 1 },
};

describe('events move exactly their metrics', () => {
  test.each(Object.values(samples).map((event) => [event.type, event] as const))('%s', async (type, event) => {
    expect(await measureEffect(event)).toEqual(expected[type]);
  });

  test('all events together move every metric but failed measurements', async () => {
    const reclaimed = { ...samples.turn_claimed, attempt: 2 };
    const moved = Object.keys(await measureEffect(...Object.values(samples), reclaimed));
    const still = Object.values(METRICS).filter(({ name }) => !moved.some((series) => series.startsWith(name)));
    expect(still).toEqual([METRICS.measureFailures]);
  });

  test('a claim of a turn after a claim without outcome counts as a reclaim', async () => {
    const effect = await measureEffect({ type: 'turn_claimed', ...scope, agent: 'support', attempt: 2 });
    expect(effect).toEqual({ turnfold_turn_reclaims_total: 1 });
  });

  test('a claim that resumes a suspended turn moves nothing', async () => {
    expect(await measureEffect({ type: 'turn_claimed', ...scope, agent: 'support', attempt: 1 })).toEqual({});
  });

  test('a poison turn settled by a claim has no duration', async () => {
    const effect = await measureEffect({ type: 'turn_settled', ...scope, outcome: 'failed', code: 'poison' });
    expect(effect).toEqual({ 'turnfold_turns_total{code="poison",outcome="failed"}': 1 });
  });

  test('a completed turn has the code none', async () => {
    const effect = await measureEffect({ type: 'turn_settled', ...scope, outcome: 'completed', durationMs: 0 });
    expect(effect).toMatchObject({ 'turnfold_turns_total{code="none",outcome="completed"}': 1 });
  });

  test('a failed model call has no tokens, and may still be over the limit', async () => {
    const call = { type: 'model_called', ...scope, purpose: 'summary', model: 'm', outcome: 'retry' } as const;
    const effect = await measureEffect({ ...call, durationMs: 1_000, tokens: 10, isOverLimit: false });
    expect(Object.keys(effect).toSorted()).toEqual([
      'turnfold_model_request_duration_seconds_count{model="m",purpose="summary"}',
      'turnfold_model_request_duration_seconds_sum{model="m",purpose="summary"}',
      'turnfold_model_requests_total{model="m",outcome="retry",purpose="summary"}',
    ]);
  });

  test('a chain counts its requests under its own id, and tokens under the answering model', async () => {
    const effect = await measureEffect({ ...samples.model_called, model: 'a|b', answeredBy: 'b' });
    const labelled = (model: string): string[] => [
      ...new Set(
        Object.keys(effect)
          .filter((series) => series.includes(`model="${model}"`))
          .map((series) => /^turnfold_model_(\w+?)(?:_sum|_count)?\{/.exec(series)?.[1] ?? series),
      ),
    ];
    expect(labelled('b').toSorted()).toEqual([
      'cached_tokens_total',
      'cost_dollars_total',
      'size_estimate_ratio',
      'tokens_total',
    ]);
    expect(labelled('a|b').toSorted()).toEqual([
      'first_text_seconds',
      'request_duration_seconds',
      'requests_over_limit_total',
      'requests_total',
      'retry_after_seconds',
    ]);
  });

  test('a pass without a version records no sizes', async () => {
    const effect = await measureEffect({ ...samples.pass_ended, outcome: 'no_gain' });
    expect(Object.keys(effect).filter((series) => /tokens|archived/.test(series))).toEqual([]);
  });

  test('a pass ended by a claim records no duration', async () => {
    const { durationMs: _durationMs, ...ended } = samples.pass_ended;
    const effect = await measureEffect({ ...ended, outcome: 'failed', code: 'poison' });
    expect(Object.keys(effect).filter((series) => series.includes('pass_duration'))).toEqual([]);
  });

  test('a shadow that could not be measured records no sizes', async () => {
    const { shadow: _shadow, ...alone } = samples.pass_shadowed;
    expect(await measureEffect(alone)).toEqual({
      'turnfold_shadow_passes_total{outcome="committed",policy="live",strategy="summarize"}': 1,
      'turnfold_shadow_passes_total{outcome="error",policy="shadow",strategy="none"}': 1,
    });
  });

  test('a refused summary records no size', async () => {
    const { tokens: _tokens, ...ended } = samples.summary_ended;
    const effect = await measureEffect({ ...ended, outcome: 'refused' });
    expect(Object.keys(effect).filter((series) => series.includes('tokens'))).toEqual([]);
  });
});

describe('the trigger of a pass', () => {
  test('is the strongest reason, in any order', () => {
    const strongest = [
      'overflow',
      'hard_limit',
      'manual',
      'token_threshold',
      'ratio',
      'message_threshold',
      'turn_threshold',
    ];
    let left = [...REASONS];
    for (const reason of strongest) {
      expect(findTrigger(left)).toBe(reason);
      expect(findTrigger(left.toReversed())).toBe(reason);
      left = left.filter((other) => other !== reason);
    }
    expect(findTrigger(left)).toBe('turn_end');
  });

  test('is none without a reason', () => {
    expect(findTrigger([])).toBe('none');
  });
});

describe('the metrics page', () => {
  test('parses, both fresh and used', async () => {
    const metrics = createMetrics();
    expect(parseExposition((await metrics.render()).body).length).toBeGreaterThan(Object.keys(METRICS).length);
    for (const event of Object.values(samples)) metrics.listener(event);
    parseExposition((await metrics.render()).body);
  });

  test('states its format', async () => {
    expect((await createMetrics().render()).contentType).toBe('text/plain; version=0.0.4; charset=utf-8');
  });

  test('shows the event-loop lag of the process under the prefix', async () => {
    const families = parseExposition((await createMetrics().render()).body);
    expect(families.map(({ name }) => name)).toContain('turnfold_nodejs_eventloop_lag_max_seconds');
    expect(families.filter(({ name }) => !/^(turnfold|bullmq)_/.test(name))).toEqual([]);
  });

  test('shows the whole length of a block of the event loop', async () => {
    const metrics = createMetrics();
    const block = async (): Promise<number | undefined> => {
      await delay(20); // Its timer ticks every 10 ms, and measures from its first tick on.
      const from = performance.now();
      while (performance.now() - from < 300);
      await delay(1); // It is due before this.
      const families = parseExposition((await metrics.render()).body);
      return families.find(({ name }) => name === 'turnfold_nodejs_eventloop_lag_max_seconds')?.samples[0]?.value;
    };
    await expect.poll(block, { timeout: 60_000 }).toBeGreaterThan(0.25);
  });

  test('quotes label values', async () => {
    const metrics = createMetrics();
    const where = 'a "b" \\ c\nd';
    metrics.listener({ type: 'worker_failed', where, error: undefined });
    const failures = parseExposition((await metrics.render()).body).find(
      ({ name }) => name === METRICS.workerFailures.name,
    );
    expect(failures?.samples).toContainEqual({ name: METRICS.workerFailures.name, labels: { where }, value: 1 });
  });

  test('starts series at 0, so that `rate` sees the first increase', async () => {
    const series = await readSeries(createMetrics());
    for (const { name, type, start = [] } of Object.values<MetricSpec>(METRICS)) {
      for (const labels of start) {
        const pairs = Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1));
        const set = pairs.length === 0 ? '' : `{${pairs.map(([label, value]) => `${label}="${value}"`).join(',')}}`;
        expect(series.get(`${name}${type === 'histogram' ? '_count' : ''}${set}`), name + set).toBe(0);
      }
    }
    expect(series.get('turnfold_turns_total{code="poison",outcome="failed"}')).toBe(0);
  });

  test('has all outcomes of a model from its first request on', async () => {
    const metrics = createMetrics();
    metrics.listener(samples.model_called);
    const series = await readSeries(metrics);
    expect(series.get('turnfold_model_requests_total{model="scripted",outcome="fatal",purpose="turn"}')).toBe(0);
  });

  test('is separate from a second page in the same process', async () => {
    const [one, other] = [createMetrics(), createMetrics()];
    one.listener(samples.lease_lost);
    expect((await readSeries(one)).get('turnfold_leases_lost_total{what="turn",why="fenced"}')).toBe(1);
    expect((await readSeries(other)).get('turnfold_leases_lost_total{what="turn",why="fenced"}')).toBe(0);
  });

  test('shows no id', async () => {
    const metrics = createMetrics();
    for (const event of Object.values(samples)) metrics.listener(event);
    // Label values could look like ids by accident.
    expect([...(await readSeries(metrics)).keys()].join()).not.toMatch(/471[123]|acme|read_file/);
  });
});
