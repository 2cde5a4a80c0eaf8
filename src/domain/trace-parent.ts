import { z } from 'zod';

/**
 * A span as W3C `traceparent`: 55 characters, ids and no content. It travels with what is asked for (a turn's record, a job's
 * data), so that what answers stands in the trace of who asked.
 */
export const traceParentSchema = z.string().regex(/^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/);

export type TraceParent = z.infer<typeof traceParentSchema>;
