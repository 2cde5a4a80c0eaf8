import type { ConversationRef, TraceParent } from './ids.ts';
import type { ModelProfile } from './model.ts';
import type { Reason } from './pass.ts';

/** The work that a trace span covers. Events inside the span report how the work ends. */
export type SpanSubject =
  /** One claim of a turn by a worker, up to the write that settles or suspends the turn. */
  | {
      readonly kind: 'turn';
      readonly conversation: ConversationRef;
      readonly turn: string;
      readonly agent: string;
      readonly attempt: number;
      /** Trace span of the caller that enqueued the turn. */
      readonly traceParent?: TraceParent | undefined;
      /** Trace span of the claim that suspended the turn. */
      readonly suspendedIn?: TraceParent | undefined;
    }
  | {
      readonly kind: 'model_call';
      readonly profile: Pick<ModelProfile, 'id' | 'format'>;
      readonly maxOutputTokens?: number | undefined;
      /** True if the context was compacted, so that it is shorter than the log. */
      readonly isCompacted: boolean;
    }
  /** `name` is the tool's name, or `unknown` if the agent does not have the tool. */
  | { readonly kind: 'tool_call'; readonly name: string; readonly call: string }
  /** One delivery of a compaction job. */
  | {
      readonly kind: 'pass';
      readonly conversation: ConversationRef;
      readonly passId: string;
      readonly agent: string;
      readonly attempt: number;
      readonly reasons: readonly Reason[];
      /** Trace span that requested the compaction pass. */
      readonly traceParent?: TraceParent | undefined;
    }
  /** One run of a summarization job. */
  | {
      readonly kind: 'summary';
      readonly conversation: ConversationRef;
      readonly passId: string;
      readonly sourceTokens: number;
      /** Trace span of the compaction pass that requested the summary. */
      readonly traceParent?: TraceParent | undefined;
    };

/** Puts trace spans around the work of workers. */
export interface Tracing {
  /**
   * Runs the work inside a trace span. Spans that start meanwhile become its children. If the work throws, the span
   * ends as failed and the error is thrown again.
   */
  inSpan<T>(about: SpanSubject, work: () => Promise<T>): Promise<T>;
  /** Returns the current trace span, or undefined if there is none. */
  current(): TraceParent | undefined;
}

/** Used when tracing is switched off: runs the work without spans. */
export const noTracing: Tracing = { inSpan: (_about, work) => work(), current: () => undefined };
