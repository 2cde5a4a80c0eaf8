import type { Reason } from '../compaction/thresholds.ts';
import type { ConversationRef } from '../ids.ts';
import type { ModelProfile } from '../model.ts';
import type { TraceParent } from '../trace-parent.ts';

/** What a span is about. How it ends is told by the events that come inside it. */
export type Traced =
  /** one claim of a turn, up to the write that settles or suspends it */
  | {
      readonly kind: 'turn';
      readonly conversation: ConversationRef;
      readonly turn: string;
      readonly agent: string;
      readonly attempt: number;
      /** of who enqueued it */
      readonly askedIn?: TraceParent | undefined;
      /** of the claim that suspended it */
      readonly suspendedIn?: TraceParent | undefined;
    }
  | {
      readonly kind: 'model_call';
      readonly profile: Pick<ModelProfile, 'id' | 'format'>;
      readonly maxOutputTokens?: number | undefined;
      /** a version that is shorter than its log is sent */
      readonly isCompacted: boolean;
    }
  /** `name` is a registered tool's, or `unknown` */
  | { readonly kind: 'tool_call'; readonly name: string; readonly call: string }
  /** one delivery of a pass */
  | {
      readonly kind: 'pass';
      readonly conversation: ConversationRef;
      readonly passId: string;
      readonly agent: string;
      readonly attempt: number;
      readonly reasons: readonly Reason[];
      /** of who asked for it */
      readonly askedIn?: TraceParent | undefined;
    }
  /** one run of a summarization job */
  | {
      readonly kind: 'summary';
      readonly conversation: ConversationRef;
      readonly passId: string;
      readonly sourceTokens: number;
      /** of the pass that fanned it out */
      readonly askedIn?: TraceParent | undefined;
    };

/** Spans around what workers do. */
export interface Tracing {
  /** Runs the work in a span: what it calls stands below. What it throws is thrown on, and ends the span as an error. */
  inSpan<T>(about: Traced, work: () => Promise<T>): Promise<T>;
  /** of the span that this is called in; undefined: none */
  current(): TraceParent | undefined;
}

/** Nobody traces. */
export const noTracing: Tracing = { inSpan: (_about, work) => work(), current: () => undefined };
