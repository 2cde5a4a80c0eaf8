import { type Attributes, SpanKind } from '@opentelemetry/api';
import type { WorkerEvent } from '../domain/events.ts';
import type { SpanSubject } from '../domain/tracing.ts';
import { ERROR_TYPE, GEN_AI, OTHER_PROVIDER, PROVIDERS, SPAN_EVENTS, SPAN_NAMES, TURNFOLD } from './trace-names.ts';

type EventOf<Type extends WorkerEvent['type']> = Extract<WorkerEvent, { type: Type }>;

/** Changes that a worker event makes to the span in which it occurs. */
export interface SpanUpdate {
  /** Kinds of span that this event changes. Other spans are not changed. */
  readonly of: readonly SpanSubject['kind'][];
  readonly attributes: Attributes;
  /**
   * Value of `error.type`, which marks the span as failed. With null, the span is not marked as failed, even if an
   * exception follows.
   */
  readonly error?: string | null | undefined;
  /** Name of a span event to add. The attributes are then set on the span event instead of the span. */
  readonly eventName?: string;
}

type Updates = { readonly [Type in WorkerEvent['type']]?: (event: EventOf<Type>) => SpanUpdate };

const MS_A_SECOND = 1_000;

/**
 * For each worker event, the changes of its span. Suspensions, cancels, reused summaries, superseded compactions and
 * work handed back are not errors. If a worker loses its turn, only the span of the turn is marked, not its calls.
 */
const UPDATES: Updates = {
  turn_settled: ({ outcome, code }) => ({
    of: ['turn'],
    attributes: { [TURNFOLD.outcome]: outcome },
    error: outcome === 'failed' ? (code ?? outcome) : undefined,
  }),
  turn_suspended: (event) => ({
    of: ['turn'],
    attributes: { [TURNFOLD.outcome]: 'suspended', [TURNFOLD.waitsFor]: event.for },
  }),
  model_called: ({ purpose, model, answeredBy, outcome, tokens, firstTextMs, ...usage }) => ({
    of: ['model_call'],
    attributes: {
      [TURNFOLD.purpose]: purpose,
      [TURNFOLD.requestTokens]: tokens,
      [GEN_AI.responseModel]: outcome === 'answered' ? (answeredBy ?? model) : undefined,
      [GEN_AI.inputTokens]: usage.inputTokens,
      [GEN_AI.outputTokens]: usage.outputTokens,
      [GEN_AI.cachedTokens]: usage.cachedTokens,
      [GEN_AI.timeToFirstText]: firstTextMs === undefined ? undefined : firstTextMs / MS_A_SECOND,
    },
    error: outcome === 'lost' || outcome === 'stopped' ? null : outcome === 'answered' ? undefined : outcome,
  }),
  model_passed_over: ({ model, outcome }) => ({
    of: ['model_call'],
    eventName: SPAN_EVENTS.modelPassedOver,
    attributes: { [GEN_AI.responseModel]: model, [ERROR_TYPE]: outcome },
  }),
  tool_called: ({ outcome }) => ({
    of: ['tool_call'],
    attributes: { [TURNFOLD.outcome]: outcome },
    error: outcome === 'done' ? undefined : outcome,
  }),
  pass_requested: ({ reasons, isJoined, passId }) => ({
    of: ['turn', 'pass'],
    eventName: SPAN_EVENTS.passRequested,
    attributes: {
      [TURNFOLD.pass]: passId,
      [TURNFOLD.reasons]: [...reasons],
      [TURNFOLD.outcome]: isJoined ? 'joined' : 'requested',
    },
  }),
  pass_fanned_out: ({ jobs, sequences }) => ({
    of: ['pass'],
    attributes: { [TURNFOLD.outcome]: 'fanned_out', [TURNFOLD.jobs]: jobs, [TURNFOLD.sequences]: sequences },
  }),
  pass_proposed: ({ strategy, tokensBefore, tokensAfter, archived, sequences }) => ({
    of: ['pass'],
    attributes: {
      [TURNFOLD.outcome]: 'proposed',
      [TURNFOLD.strategy]: strategy,
      [TURNFOLD.tokensBefore]: tokensBefore,
      [TURNFOLD.tokensAfter]: tokensAfter,
      [TURNFOLD.archived]: archived,
      [TURNFOLD.sequences]: sequences,
    },
  }),
  pass_ended: ({ outcome, code, strategy, version, tokensBefore, tokensAfter, archived, sequences }) => ({
    of: ['pass'],
    attributes: {
      [TURNFOLD.outcome]: outcome,
      [TURNFOLD.strategy]: strategy,
      [TURNFOLD.version]: version,
      [TURNFOLD.tokensBefore]: tokensBefore,
      [TURNFOLD.tokensAfter]: tokensAfter,
      [TURNFOLD.archived]: archived,
      [TURNFOLD.sequences]: sequences,
    },
    error: outcome === 'failed' || outcome === 'infeasible' ? (code ?? outcome) : undefined,
  }),
  summary_ended: ({ outcome, tokens }) => ({
    of: ['summary'],
    attributes: { [TURNFOLD.outcome]: outcome, [TURNFOLD.summaryTokens]: tokens },
    error: outcome === 'failed' || outcome === 'refused' ? outcome : undefined,
  }),
  version_refused: ({ by, version }) => ({
    of: ['turn', 'pass'],
    eventName: SPAN_EVENTS.versionRefused,
    attributes: { [TURNFOLD.version]: version, [TURNFOLD.outcome]: by },
  }),
  lease_returned: ({ what }) => ({
    of: [what],
    attributes: { [TURNFOLD.outcome]: 'handed_back' },
    error: null,
  }),
  lease_lost: ({ what, why }) => ({
    of: [what],
    attributes: { [TURNFOLD.outcome]: why === 'canceled' ? why : 'lost' },
    error: why === 'canceled' ? null : `lease_${why ?? 'lost'}`,
  }),
};

/** Returns the span changes of an event. @returns undefined if the event belongs to no span */
export function describeUpdate(event: WorkerEvent): SpanUpdate | undefined {
  const describe = UPDATES[event.type] as ((event: WorkerEvent) => SpanUpdate) | undefined;
  return describe?.(event);
}

type TracedOf<Kind extends SpanSubject['kind']> = Extract<SpanSubject, { kind: Kind }>;

export interface SpanStart {
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes: Attributes;
  /** Attributes that the span and all its child spans get. */
  readonly shared?: Attributes;
}

type Starts = { readonly [Kind in SpanSubject['kind']]: (about: TracedOf<Kind>) => SpanStart };

/**
 * Name and attributes of each kind of span. A name never contains an id, so that trace viewers can group spans by
 * name.
 */
const STARTS: Starts = {
  turn: ({ conversation, turn, agent, attempt }) => ({
    name: `${SPAN_NAMES.turn} ${agent}`,
    kind: SpanKind.INTERNAL,
    attributes: { [GEN_AI.operation]: SPAN_NAMES.turn, [TURNFOLD.attempt]: attempt },
    shared: { ...describeConversation(conversation), [GEN_AI.agent]: agent, [TURNFOLD.turn]: turn },
  }),
  model_call: ({ profile: { id, format }, maxOutputTokens, isCompacted }) => ({
    name: `${SPAN_NAMES.model_call} ${id}`,
    kind: SpanKind.CLIENT,
    attributes: {
      [GEN_AI.operation]: SPAN_NAMES.model_call,
      [GEN_AI.provider]: format === undefined ? OTHER_PROVIDER : PROVIDERS[format],
      [GEN_AI.requestModel]: id,
      [GEN_AI.maxOutputTokens]: maxOutputTokens,
      [GEN_AI.isCompacted]: isCompacted || undefined,
    },
  }),
  tool_call: ({ name, call }) => ({
    name: `${SPAN_NAMES.tool_call} ${name}`,
    kind: SpanKind.INTERNAL,
    attributes: {
      [GEN_AI.operation]: SPAN_NAMES.tool_call,
      [GEN_AI.tool]: name,
      [GEN_AI.toolType]: 'function',
      [GEN_AI.toolCall]: call,
    },
  }),
  pass: ({ conversation, passId, agent, attempt, reasons }) => ({
    name: SPAN_NAMES.pass,
    kind: SpanKind.CONSUMER,
    attributes: { [TURNFOLD.attempt]: attempt, [TURNFOLD.reasons]: [...reasons] },
    shared: { ...describeConversation(conversation), [GEN_AI.agent]: agent, [TURNFOLD.pass]: passId },
  }),
  summary: ({ conversation, passId, sourceTokens }) => ({
    name: SPAN_NAMES.summary,
    kind: SpanKind.CONSUMER,
    attributes: { [TURNFOLD.sourceTokens]: sourceTokens },
    shared: { ...describeConversation(conversation), [TURNFOLD.pass]: passId },
  }),
};

export function describeStart(about: SpanSubject): SpanStart {
  // TypeScript cannot express that the entry belongs to this kind of span.
  const describe = STARTS[about.kind] as (about: SpanSubject) => SpanStart;
  return describe(about);
}

function describeConversation({ tenant, id }: TracedOf<'turn'>['conversation']): Attributes {
  return { [GEN_AI.conversation]: id, [TURNFOLD.tenant]: tenant };
}
