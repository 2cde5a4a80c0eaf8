import type { Reason } from '../compaction/thresholds.ts';
import type { ConversationRef, TraceParent } from '../ids.ts';
import type { ModelProfile } from '../model.ts';

/** Work that a span covers. Events inside the span report how the work ends. */
export type SpanSubject =
  /** One claim of a turn, up to the write that settles or suspends it. */
  | {
      readonly kind: 'turn';
      readonly conversation: ConversationRef;
      readonly turn: string;
      readonly agent: string;
      readonly attempt: number;
      /** Span of the caller that enqueued the turn. */
      readonly askedIn?: TraceParent | undefined;
      /** Span of the claim that suspended the turn. */
      readonly suspendedIn?: TraceParent | undefined;
    }
  | {
      readonly kind: 'model_call';
      readonly profile: Pick<ModelProfile, 'id' | 'format'>;
      readonly maxOutputTokens?: number | undefined;
      /** True if the version is shorter than its log. */
      readonly isCompacted: boolean;
    }
  /** `name` is the name of a registered tool, or `unknown`. */
  | { readonly kind: 'tool_call'; readonly name: string; readonly call: string }
  /** One delivery of a pass. */
  | {
      readonly kind: 'pass';
      readonly conversation: ConversationRef;
      readonly passId: string;
      readonly agent: string;
      readonly attempt: number;
      readonly reasons: readonly Reason[];
      /** Span of the requester of the pass. */
      readonly askedIn?: TraceParent | undefined;
    }
  /** One run of a summarization job. */
  | {
      readonly kind: 'summary';
      readonly conversation: ConversationRef;
      readonly passId: string;
      readonly sourceTokens: number;
      /** Span of the pass that requested the summary. */
      readonly askedIn?: TraceParent | undefined;
    };

/** Spans around the work of workers. */
export interface Tracing {
  /**
   * Runs the work in a span. Nested spans become its children. An error ends the span as failed and is thrown again.
   */
  inSpan<T>(about: SpanSubject, work: () => Promise<T>): Promise<T>;
  /** Returns the current span, or undefined outside of any span. */
  current(): TraceParent | undefined;
}

/** Tracing that is switched off. */
export const noTracing: Tracing = { inSpan: (_about, work) => work(), current: () => undefined };
