import type { Message } from '../domain/message.ts';
import type { ModelAnswer, ToolDescription } from '../domain/model.ts';
import type { RawItem, WireFormat } from '../domain/raw-items.ts';
import type { SentPart } from './parts.ts';

/** A request in our own form. */
export interface WireRequest {
  /** Model name of the provider. */
  readonly model: string;
  readonly system: string;
  readonly tools: readonly ToolDescription[];
  readonly messages: readonly Message[];
  /** Version that the messages are the context of. Absent if nothing was ever compacted. */
  readonly version?: number;
  readonly maxOutputTokens: number;
}

/** Contents of a provider's answer, and the items that hold them. */
export interface AnswerParts extends Pick<ModelAnswer, 'content' | 'toolCalls'> {
  readonly end: NonNullable<ModelAnswer['end']>;
  readonly items: readonly RawItem[];
}

/** Index into the request's messages, or `NO_ORIGIN` for added content. */
export type Origin = number;
export const NO_ORIGIN: Origin = -1;

/** A call as it is sent: a legal id, a legal name, and arguments that are a JSON object. */
export interface WireCall {
  readonly id: string;
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** The same arguments as text. The model's own text if it is an object. */
  readonly arguments: string;
}

/** One message of a request, the same for every format: no empty content, results directly behind their calls. */
export type ArrangedItem =
  | {
      readonly kind: 'user';
      readonly origin: Origin;
      readonly parts: readonly SentPart[];
      /** The provider's own compaction of this summary, sent in its place where the format allows it. */
      readonly raw?: readonly RawItem[];
    }
  | {
      readonly kind: 'assistant';
      readonly origin: Origin;
      /** Empty only beside calls. */
      readonly text: string;
      readonly calls: readonly WireCall[];
      /** Number of thinking items that the model wrote in this format, sent or not (A7). */
      readonly thoughts: number;
      /** The provider's own items, if this model takes them back. Thinking that no longer holds is left out. */
      readonly raw?: readonly RawItem[];
    }
  | {
      readonly kind: 'result';
      readonly origin: Origin;
      readonly callId: string;
      readonly parts: readonly SentPart[];
      readonly isError: boolean;
    };

export type ArrangedAssistant = Extract<ArrangedItem, { kind: 'assistant' }>;
export type ArrangedResult = Extract<ArrangedItem, { kind: 'result' }>;

export interface Rendered<Body> {
  readonly format: WireFormat;
  readonly body: Body;
  /** Origin of every block of every message of the body. The checks of order (X10) and thinking (A8) need them. */
  readonly origins: readonly (readonly Origin[])[];
  /** Fingerprint of the system texts and tools. An adapter records it as `RawItems.prefix` of the answer (A8). */
  readonly prefix: string;
}

/** A rule that a request breaks. */
export interface Violation {
  /** Code as in docs/reference/wire.md: X1, A4, C1, R2 … */
  readonly rule: string;
  /** Path in the body, such as `messages[3].content[0]`. */
  readonly path: string;
  /** Description without contents. */
  readonly message: string;
}
