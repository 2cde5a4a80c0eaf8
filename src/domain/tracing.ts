import type { ConversationRef, TraceParent } from './ids.ts';
import type { ModelProfile } from './model.ts';
import type { Reason } from './pass.ts';

/** The work that a span covers. Events inside report how it ends. */
export type SpanSubject =
  /** One claim, up to the write that settles or suspends the turn. */
  | {
      readonly kind: 'turn';
      readonly conversation: ConversationRef;
      readonly turn: string;
      readonly agent: string;
      readonly attempt: number;
      /** Span of the caller that enqueued the turn. */
      readonly traceParent?: TraceParent | undefined;
      /** Span of the claim that suspended the turn. */
      readonly suspendedIn?: TraceParent | undefined;
    }
  | {
      readonly kind: 'model_call';
      readonly profile: Pick<ModelProfile, 'id' | 'format'>;
      readonly maxOutputTokens?: number | undefined;
      readonly isCompacted: boolean;
    }
  /** `unknown` if the agent does not have the tool. */
  | { readonly kind: 'tool_call'; readonly name: string; readonly call: string }
  /** One delivery of a compaction job. */
  | {
      readonly kind: 'pass';
      readonly conversation: ConversationRef;
      readonly passId: string;
      readonly agent: string;
      readonly attempt: number;
      readonly reasons: readonly Reason[];
      /** Span that requested the pass. */
      readonly traceParent?: TraceParent | undefined;
    }
  | {
      readonly kind: 'summary';
      readonly conversation: ConversationRef;
      readonly passId: string;
      readonly sourceTokens: number;
      readonly traceParent?: TraceParent | undefined;
    };

export interface Tracing {
  /** Runs work in a span. Spans that start meanwhile become children. If the work throws, the span ends as failed. */
  inSpan<T>(about: SpanSubject, work: () => Promise<T>): Promise<T>;
  current(): TraceParent | undefined;
}

export const noTracing: Tracing = { inSpan: (_about, work) => work(), current: () => undefined };
