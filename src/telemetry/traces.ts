import {
  type Attributes,
  type Context,
  context,
  createContextKey,
  ROOT_CONTEXT,
  type Span,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { ContentListener } from '../domain/contents.ts';
import { isTurnfoldError } from '../domain/errors.ts';
import type { EventListener } from '../domain/events.ts';
import type { SpanSubject, Tracing } from '../domain/ports/tracing.ts';
import { describeThrown, isError } from '../domain/thrown.ts';
import { createRedaction } from './secrets.ts';
import { describeContentSpan } from './trace-contents.ts';
import { describeNews } from './trace-ends.ts';
import { ERROR_TYPE } from './trace-names.ts';
import { parseTraceParent, readCurrentTrace } from './trace-parent.ts';
import { describeStart } from './trace-starts.ts';

/** A span of ours while its work runs; found again by the events that come inside it. */
interface OpenSpan {
  readonly span: Span;
  readonly kind: SpanSubject['kind'];
  readonly shared: Attributes;
  /** an event has said how it ended, better than what is thrown afterwards */
  hasEnded: boolean;
}

const OPEN_SPAN = createContextKey('turnfold.span');

export interface TracesOptions {
  /** never put into a span */
  readonly secrets?: readonly string[];
}

export interface Traces {
  readonly tracing: Tracing;
  /** tells the spans how they end */
  readonly listener: EventListener;
  /** puts what was said into the spans; to be given contents only where somebody has asked for that */
  readonly contentListener: ContentListener;
}

/**
 * Traces by OpenTelemetry's interface alone: spans go to the SDK that the process has registered, and nowhere where it has
 * none. Errors are told by their code or name, not recorded: their messages may quote contents.
 */
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

/**
 * A call stands below what makes it. What a queue delivers stands below who asked for it, and else begins a trace: what is
 * active around it is the start of the worker, or nothing.
 */
function chooseParent(about: SpanSubject): Context {
  if (about.kind === 'model_call' || about.kind === 'tool_call') return context.active();
  const asker = parseTraceParent(about.askedIn);
  return asker === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, asker);
}

/** A turn that was suspended goes on beside its former span, not below it: that one has ended, it may be a day ago. */
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
