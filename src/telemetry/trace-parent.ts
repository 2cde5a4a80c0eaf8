import { isSpanContextValid, type SpanContext, trace } from '@opentelemetry/api';
import { type TraceParent, traceParentSchema } from '../domain/ids.ts';

/**
 * The span that is active here, to travel with what is asked for. Written here and not by the propagator that is registered:
 * that one may write other headers, and what is stored is read by workers that have another. `tracestate` stays behind: it
 * may have 512 characters, and a turn's record has room for 64.
 */
export function readCurrentTrace(): TraceParent | undefined {
  const active = trace.getActiveSpan()?.spanContext();
  if (active === undefined || !isSpanContextValid(active)) return undefined;
  const { traceId, spanId, traceFlags } = active;
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}

/** Undefined where it is none: a trace that was cut is no reason to refuse the work. */
export function parseTraceParent(text: TraceParent | undefined): SpanContext | undefined {
  if (text === undefined || !traceParentSchema.safeParse(text).success) return undefined;
  const [, traceId = '', spanId = '', flags = ''] = text.split('-');
  const parsed = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return isSpanContextValid(parsed) ? parsed : undefined;
}
