import { MODEL_OUTCOMES, type ModelOutcome } from '../../domain/events.ts';
import type { Instruments } from '../instruments.ts';
import { ERROR_TYPE, GEN_AI, SPAN_EVENTS, TURNFOLD } from '../trace-names.ts';
import { type EventOf, type EventRows, line, pick, type SpanUpdate } from './event-row.ts';
import { toSeconds } from './metric-spec.ts';

/** Outcomes of a model call that are not failures of the model. */
const QUIET: ReadonlySet<ModelOutcome> = new Set(['answered', 'lost', 'stopped']);

const IGNORED_COUNTS = {
  excess: 'token count of the provider not used: no tokenizer needs so many tokens',
  truncated: 'the provider cuts requests to its own window without an error: set windowTokens of the model',
} as const;

/** A suspension or a cancel is not an error of the span. */
export const TURN_EVENTS = {
  turn_claimed: {
    log: ({ agent, attempt, waitMs }) =>
      attempt > 1
        ? line('warn', 'turn claimed again: earlier claims of it ended without a recorded outcome', {
            agent,
            attempt,
            waitMs,
          })
        : line('debug', 'turn claimed', { agent, attempt, waitMs }),
    count({ waitMs, suspended, attempt }, { turnWait, turnSuspended, turnReclaims }) {
      if (waitMs !== undefined) turnWait.observe(toSeconds(waitMs));
      if (suspended !== undefined) turnSuspended.observe({ waits_for: suspended.for }, toSeconds(suspended.ms));
      if (attempt > 1) turnReclaims.inc();
    },
  },
  turn_settled: {
    log: ({ outcome, code, leaves, durationMs }) =>
      line(outcome === 'failed' ? 'warn' : 'info', `turn ${outcome}`, { code, leaves, durationMs }),
    count({ outcome, code, leaves, durationMs }, { turns, turnsLeft, turnDuration }) {
      turns.inc({ outcome, code: code ?? 'none' });
      if (leaves !== undefined) turnsLeft.inc({ why: leaves });
      if (durationMs !== undefined) turnDuration.observe({ outcome }, toSeconds(durationMs));
    },
    span: ({ outcome, code }) => ({
      of: ['turn'],
      attributes: { [TURNFOLD.outcome]: outcome },
      error: outcome === 'failed' ? (code ?? outcome) : undefined,
    }),
  },
  turn_suspended: {
    log: (event) => line('info', `turn waits for ${event.for}`, { waitMs: event.waitMs }),
    count: (event, { turnSuspensions }) => turnSuspensions.inc({ waits_for: event.for }),
    span: (event) => ({
      of: ['turn'],
      attributes: { [TURNFOLD.outcome]: 'suspended', [TURNFOLD.waitsFor]: event.for },
    }),
  },
  tool_called: {
    log: ({ name, outcome, durationMs }) => line('debug', 'tool called', { tool: name, outcome, durationMs }),
    count({ outcome, durationMs }, { toolCalls, toolCallDuration }) {
      toolCalls.inc({ outcome });
      toolCallDuration.observe(toSeconds(durationMs));
    },
    span: ({ outcome }) => ({
      of: ['tool_call'],
      attributes: { [TURNFOLD.outcome]: outcome },
      error: outcome === 'done' ? undefined : outcome,
    }),
  },
  model_called: {
    log: (event) =>
      line(QUIET.has(event.outcome) ? 'debug' : 'warn', 'model called', {
        ...pick(event, 'purpose', 'model', 'answeredBy', 'outcome', 'why', 'code', 'durationMs', 'tokens'),
        ...pick(event, 'isOverLimit', 'inputTokens', 'outputTokens'),
      }),
    count: countModelCall,
    span: describeModelCall,
  },
  model_passed_over: {
    log: ({ purpose, model, outcome }) =>
      line('warn', 'model failed, next model of the chain called', { purpose, model, outcome }),
    count: ({ purpose, model, outcome }, { modelFallbacks }) => modelFallbacks.inc({ purpose, model, outcome }),
    span: ({ model, outcome }) => ({
      of: ['model_call'],
      eventName: SPAN_EVENTS.modelPassedOver,
      attributes: { [GEN_AI.responseModel]: model, [ERROR_TYPE]: outcome },
    }),
  },
  count_ignored: {
    log: ({ model, why, reportedTokens, countedTokens }) =>
      line('warn', IGNORED_COUNTS[why], { model, why, reportedTokens, countedTokens }),
    count: ({ model, why }, { modelIgnoredCounts }) => modelIgnoredCounts.inc({ model, why }),
  },
} satisfies Partial<EventRows>;

function countModelCall(event: EventOf<'model_called'>, instruments: Instruments): void {
  const { purpose, model, outcome, durationMs, firstTextMs, retryAfterMs, isOverLimit } = event;
  // All outcomes start at 0 with the first call of a model. Otherwise Prometheus' `rate` would miss the first failure.
  for (const possible of MODEL_OUTCOMES) instruments.modelRequests.inc({ purpose, model, outcome: possible }, 0);
  instruments.modelRequests.inc({ purpose, model, outcome });
  instruments.modelRequestDuration.observe({ purpose, model }, toSeconds(durationMs));
  if (firstTextMs !== undefined) instruments.modelFirstText.observe({ model }, toSeconds(firstTextMs));
  if (retryAfterMs !== undefined) instruments.modelRetryAfter.observe({ purpose, model }, toSeconds(retryAfterMs));
  instruments.modelRequestsOverLimit.inc({ purpose, model }, isOverLimit ? 1 : 0);
  countUsage(event, instruments);
}

/** Counts the usage for the model of a chain that answered, at the highest prices of the chain. */
function countUsage(event: EventOf<'model_called'>, instruments: Instruments): void {
  const { purpose, answeredBy: model = event.model, tokens, inputTokens, outputTokens, cachedTokens, cost } = event;
  if (inputTokens !== undefined) instruments.modelTokens.inc({ purpose, model, direction: 'input' }, inputTokens);
  if (outputTokens !== undefined) instruments.modelTokens.inc({ purpose, model, direction: 'output' }, outputTokens);
  if (cachedTokens !== undefined) instruments.modelCachedTokens.inc({ purpose, model }, cachedTokens);
  if (cost !== undefined) instruments.modelCost.inc({ purpose, model }, cost);
  if (inputTokens !== undefined && inputTokens > 0) {
    instruments.modelSizeEstimate.observe({ purpose, model }, tokens / inputTokens);
  }
}

function describeModelCall(event: EventOf<'model_called'>): SpanUpdate {
  const { purpose, model, answeredBy, outcome, tokens, firstTextMs, ...usage } = event;
  return {
    of: ['model_call'],
    attributes: {
      [TURNFOLD.purpose]: purpose,
      [TURNFOLD.requestTokens]: tokens,
      [GEN_AI.responseModel]: outcome === 'answered' ? (answeredBy ?? model) : undefined,
      [GEN_AI.inputTokens]: usage.inputTokens,
      [GEN_AI.outputTokens]: usage.outputTokens,
      [GEN_AI.cachedTokens]: usage.cachedTokens,
      [GEN_AI.timeToFirstText]: firstTextMs === undefined ? undefined : toSeconds(firstTextMs),
    },
    error: outcome === 'lost' || outcome === 'stopped' ? null : outcome === 'answered' ? undefined : outcome,
  };
}
