import { isSpanContextValid, type SpanContext, trace } from '@opentelemetry/api';
import { type TraceParent, traceParentSchema } from '../domain/ids.ts';

/**
 * Traceparent of the active span, to be stored with the requested work. The registered propagator is not used: it may
 * write other headers, and the workers that read the record may have another one. `tracestate` is dropped, because it
 * may have 512 characters and a turn's record has room for 64.
 */
export function readCurrentTrace(): TraceParent | undefined {
  const active = trace.getActiveSpan()?.spanContext();
  if (active === undefined || !isSpanContextValid(active)) return undefined;
  const { traceId, spanId, traceFlags } = active;
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}

/** @returns undefined for an invalid traceparent, which is no reason to refuse the work */
export function parseTraceParent(text: TraceParent | undefined): SpanContext | undefined {
  if (text === undefined || !traceParentSchema.safeParse(text).success) return undefined;
  const [, traceId = '', spanId = '', flags = ''] = text.split('-');
  const parsed = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return isSpanContextValid(parsed) ? parsed : undefined;
}
