import { isSpanContextValid, type SpanContext, trace } from '@opentelemetry/api';
import { type TraceParent, traceParentSchema } from '../domain/ids.ts';

/**
 * Returns the W3C `traceparent` of the active span, to be stored with requested work. The registered propagator is not
 * used, because it may write other headers, and the worker that reads the record may have another one. `tracestate` is
 * dropped: it may have 512 characters, and the record of a turn reserves 64.
 */
export function readCurrentTrace(): TraceParent | undefined {
  const active = trace.getActiveSpan()?.spanContext();
  if (active === undefined || !isSpanContextValid(active)) return undefined;
  const { traceId, spanId, traceFlags } = active;
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}

/**
 * Parses a stored `traceparent`. @returns undefined if it is invalid, because the work should run without a trace
 * then
 */
export function parseTraceParent(text: TraceParent | undefined): SpanContext | undefined {
  if (text === undefined || !traceParentSchema.safeParse(text).success) return undefined;
  const [, traceId = '', spanId = '', flags = ''] = text.split('-');
  const parsed = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return isSpanContextValid(parsed) ? parsed : undefined;
}
