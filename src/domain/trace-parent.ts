import { z } from 'zod';

/**
 * A span as W3C `traceparent`: 55 characters of ids, without content. It travels in a turn's record and in job data, so
 * that the work joins the trace of its caller.
 */
export const traceParentSchema = z.string().regex(/^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/);

export type TraceParent = z.infer<typeof traceParentSchema>;
