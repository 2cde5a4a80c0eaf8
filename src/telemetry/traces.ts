import {
  type Attributes,
  type Context,
  context,
  createContextKey,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  type Span,
  SpanStatusCode,
  type Tracer,
  type TracerProvider,
  trace,
} from '@opentelemetry/api';
import type { ContentListener } from '../domain/contents.ts';
import { isTurnfoldError } from '../domain/errors.ts';
import type { EventListener } from '../domain/events.ts';
import type { SpanSubject, Tracing } from '../domain/ports/tracing.ts';
import { describeThrown, isError } from '../domain/thrown.ts';
import { createRedaction } from './secrets.ts';
import { describeNews, describeStart } from './span-descriptions.ts';
import { describeContentSpan } from './trace-contents.ts';
import { ERROR_TYPE } from './trace-names.ts';
import { parseTraceParent, readCurrentTrace } from './trace-parent.ts';

/** A span in progress, found by the events inside it. */
interface OpenSpan {
  readonly span: Span;
  readonly kind: SpanSubject['kind'];
  readonly shared: Attributes;
  /** An event has set the status, which is more precise than a later exception. */
  hasEnded: boolean;
}

const OPEN_SPAN = createContextKey('turnfold.span');

export interface TracesOptions {
  /** Secrets to redact from spans. */
  readonly secrets?: readonly string[];
}

export interface Traces {
  readonly tracing: Tracing;
  /** Ends spans with the outcome in events. */
  readonly listener: EventListener;
  /** Adds contents to spans. Pass contents only if the operator asked for them. */
  readonly contentListener: ContentListener;
}

/** Traces through the OpenTelemetry API. Spans go to the SDK that the process registered, or nowhere. */
export function createTraces({ secrets = [] }: TracesOptions = {}): Traces {
  const redact = createRedaction(secrets);
  const tracer = trace.getTracer('turnfold');
  return {
    tracing: { inSpan: (about, work) => runInSpan(tracer, about, work), current: readCurrentTrace },
    listener(event) {
      const open = findOpen();
      const news = describeNews(event);
      if (open === undefined || news?.of.includes(open.kind) !== true) return;
      const { attributes, happening, error } = news;
      if (happening !== undefined) open.span.addEvent(happening, attributes);
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

/** A call is a child of its caller. Work from a queue is a child of the span that requested it. */
function chooseParent(about: SpanSubject): Context {
  if (about.kind === 'model_call' || about.kind === 'tool_call') return context.active();
  const asker = parseTraceParent(about.askedIn);
  return asker === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, asker);
}

/** A resumed turn starts a sibling of its former span, not a child. */
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

/** An exporter without a server must not keep a stopping process alive. */
const DEADLINE_MS = 2_000;

/**
 * Flushes the registered SDK, which sends spans in batches. The SDK is not shut down: it belongs to the code that
 * registered it. The API has no flush, but every OpenTelemetry SDK has `forceFlush`.
 */
export async function flushSpans(): Promise<void> {
  const { promise: deadline, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, DEADLINE_MS);
  try {
    await Promise.race([findProvider().forceFlush?.(), deadline]);
  } catch {
    // The SDK reports failures by its own diagnostics.
  } finally {
    clearTimeout(timer);
  }
}

function findProvider(): TracerProvider & { forceFlush?: () => Promise<void> } {
  const provider = trace.getTracerProvider();
  return provider instanceof ProxyTracerProvider ? provider.getDelegate() : provider;
}
