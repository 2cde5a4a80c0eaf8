import type { Attributes } from '@opentelemetry/api';
import type { WorkerEvent } from '../domain/events.ts';
import type { SpanSubject } from '../domain/ports/tracing.ts';
import { ERROR_TYPE, GEN_AI, SPAN_EVENTS, TURNFOLD } from './trace-names.ts';

type EventOf<Type extends WorkerEvent['type']> = Extract<WorkerEvent, { type: Type }>;

/** What an event says of the span that it comes inside. */
export interface SpanNews {
  /** of which kinds of span; of another the event says nothing */
  readonly of: readonly SpanSubject['kind'][];
  readonly attributes: Attributes;
  /** `error.type`: the span has ended as an error; null: it has ended as none, whatever is thrown behind it */
  readonly error?: string | null | undefined;
  /** something that happened on the way: the attributes are the happening's */
  readonly happening?: string;
}

type News = { readonly [Type in WorkerEvent['type']]?: (event: EventOf<Type>) => SpanNews };

const MS_A_SECOND = 1_000;

/**
 * Suspensions, cancels, known summaries and passes that another has superseded are no errors; nor is work that was handed back, nor are
 * the calls of a lost turn, whose own span tells why.
 */
const NEWS: News = {
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
    happening: SPAN_EVENTS.modelPassedOver,
    attributes: { [GEN_AI.responseModel]: model, [ERROR_TYPE]: outcome },
  }),
  tool_called: ({ outcome }) => ({
    of: ['tool_call'],
    attributes: { [TURNFOLD.outcome]: outcome },
    error: outcome === 'done' ? undefined : outcome,
  }),
  pass_requested: ({ reasons, isJoined, passId }) => ({
    of: ['turn', 'pass'],
    happening: SPAN_EVENTS.passRequested,
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
  version_rejected: ({ by, version }) => ({
    of: ['turn', 'pass'],
    happening: SPAN_EVENTS.versionRejected,
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

/** Undefined: the event says nothing of any span. */
export function describeNews(event: WorkerEvent): SpanNews | undefined {
  const describe = NEWS[event.type] as ((event: WorkerEvent) => SpanNews) | undefined;
  return describe?.(event);
}
