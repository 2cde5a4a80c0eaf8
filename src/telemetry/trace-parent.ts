import { isSpanContextValid, type SpanContext, trace } from '@opentelemetry/api';
import { type TraceParent, traceParentSchema } from '../domain/ids.ts';

/**
 * The registered propagator is not used: it may write other headers, and the reading worker may have another
 * propagator. `tracestate` is dropped, because it may have 512 characters, and a turn's record reserves 64.
 */
export function readCurrentTrace(): TraceParent | undefined {
  const active = trace.getActiveSpan()?.spanContext();
  if (active === undefined || !isSpanContextValid(active)) return undefined;
  const { traceId, spanId, traceFlags } = active;
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}

/** Undefined for an invalid text, because work should then run without a trace. */
export function parseTraceParent(text: TraceParent | undefined): SpanContext | undefined {
  if (text === undefined || !traceParentSchema.safeParse(text).success) return undefined;
  const [, traceId = '', spanId = '', flags = ''] = text.split('-');
  const parsed = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return isSpanContextValid(parsed) ? parsed : undefined;
}
