import {
  type Attributes,
  type Context,
  context,
  createContextKey,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  type TracerProvider,
  trace,
} from '@opentelemetry/api';
import type { ContentListener } from '../domain/contents.ts';
import { isTurnfoldError } from '../domain/errors.ts';
import type { EventListener } from '../domain/events.ts';
import { describeThrown, isError } from '../domain/thrown.ts';
import type { SpanSubject, Tracing } from '../domain/tracing.ts';
import { describeContentSpan } from './contents.ts';
import { describeUpdate } from './event-catalogue.ts';
import { createRedaction } from './secrets.ts';
import { ERROR_TYPE, GEN_AI, OTHER_PROVIDER, PROVIDERS, SPAN_NAMES, TURNFOLD } from './trace-names.ts';
import { parseTraceParent, readCurrentTrace } from './trace-parent.ts';

/** A span in progress. OpenTelemetry's active context holds this object, so that events find the span. */
interface OpenSpan {
  readonly span: Span;
  readonly kind: SpanSubject['kind'];
  readonly shared: Attributes;
  /** True if an event has set the status. A later exception says less, and does not change the status. */
  hasEnded: boolean;
}

const OPEN_SPAN = createContextKey('turnfold.span');

interface TracesOptions {
  readonly secrets?: readonly string[];
}

interface Traces {
  readonly tracing: Tracing;
  readonly listener: EventListener;
  /** Listener for message texts. Connect it only if the operator allowed texts in traces. */
  readonly contentListener: ContentListener;
}

/** Spans go to the SDK that the process registered. Without an SDK they are dropped. */
export function createTraces({ secrets = [] }: TracesOptions = {}): Traces {
  const redact = createRedaction(secrets);
  const tracer = trace.getTracer('turnfold');
  return {
    tracing: { inSpan: (about, work) => runInSpan(tracer, about, work), current: readCurrentTrace },
    listener(event) {
      const open = findOpen();
      const update = describeUpdate(event);
      if (open === undefined || update?.of.includes(open.kind) !== true) return;
      const { attributes, eventName, error } = update;
      if (eventName !== undefined) open.span.addEvent(eventName, attributes);
      else open.span.setAttributes(attributes);
      if (error !== undefined) open.hasEnded = true;
      if (typeof error === 'string') markError(open.span, error);
    },
    contentListener(event) {
      findOpen()?.span.setAttributes(describeContentSpan(event, redact));
    },
  };
}

async function runInSpan<T>(tracer: Tracer, about: SpanSubject, work: () => Promise<T>): Promise<T> {
  const parent = chooseParent(about);
  const { name, kind, attributes, shared = readOpen(parent)?.shared ?? {} } = describeStart(about);
  const span = tracer.startSpan(
    name,
    { kind, attributes: { ...shared, ...attributes }, links: linksOf(about) },
    parent,
  );
  const open: OpenSpan = { span, kind: about.kind, shared, hasEnded: false };
  return await context.with(trace.setSpan(parent, span).setValue(OPEN_SPAN, open), async () => {
    try {
      return await work();
    } catch (error) {
      if (!open.hasEnded) markError(span, nameError(error));
      throw error;
    } finally {
      span.end();
    }
  });
}

/** Model and tool calls are children of the active span. Work from a queue is a child of the span that requested it. */
function chooseParent(about: SpanSubject): Context {
  if (about.kind === 'model_call' || about.kind === 'tool_call') return context.active();
  const requester = parseTraceParent(about.traceParent);
  return requester === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, requester);
}

/** Links a resumed turn to its span before the suspension. Both are children of the span that requested the turn. */
function linksOf(about: SpanSubject) {
  const former = about.kind === 'turn' ? parseTraceParent(about.suspendedIn) : undefined;
  return former === undefined ? [] : [{ context: former }];
}

function findOpen(): OpenSpan | undefined {
  return readOpen(context.active());
}

function readOpen(from: Context): OpenSpan | undefined {
  return from.getValue(OPEN_SPAN) as OpenSpan | undefined;
}

function markError(span: Span, type: string): void {
  span.setAttribute(ERROR_TYPE, type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

function nameError(error: unknown): string {
  if (isTurnfoldError(error)) return error.code;
  return isError(error) ? describeThrown(error).name : '_OTHER';
}

type TracedOf<Kind extends SpanSubject['kind']> = Extract<SpanSubject, { kind: Kind }>;

interface SpanStart {
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes: Attributes;
  readonly shared?: Attributes;
}

type Starts = { readonly [Kind in SpanSubject['kind']]: (about: TracedOf<Kind>) => SpanStart };

/** Start of each kind of span. A name never contains an id, so that trace viewers can group spans by name. */
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

function describeStart(about: SpanSubject): SpanStart {
  // TypeScript cannot express that this entry belongs to this kind of span.
  const describe = STARTS[about.kind] as (about: SpanSubject) => SpanStart;
  return describe(about);
}

function describeConversation({ tenant, id }: TracedOf<'turn'>['conversation']): Attributes {
  return { [GEN_AI.conversation]: id, [TURNFOLD.tenant]: tenant };
}

/** An unreachable trace server must not keep a stopping process alive. */
const DEADLINE_MS = 2_000;

/**
 * Sends the spans that the SDK still holds, without a shutdown of the SDK, which belongs to the code that registered
 * it.
 * OpenTelemetry's API has no flush, but every SDK has `forceFlush`.
 */
export async function flushSpans(): Promise<void> {
  const { promise: deadline, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, DEADLINE_MS);
  try {
    await Promise.race([findProvider().forceFlush?.(), deadline]);
  } catch {
    // The SDK reports its failures itself.
  } finally {
    clearTimeout(timer);
  }
}

function findProvider(): TracerProvider & { forceFlush?: () => Promise<void> } {
  const provider = trace.getTracerProvider();
  return provider instanceof ProxyTracerProvider ? provider.getDelegate() : provider;
}
