import type { Message } from '../domain/message.ts';
import type { ModelAnswer, ToolDescription } from '../domain/model.ts';
import type { RawItem, WireFormat } from '../domain/raw-items.ts';
import type { SentPart } from './parts.ts';

export interface WireRequest {
  /** The provider's name of the model. */
  readonly model: string;
  readonly system: string;
  readonly tools: readonly ToolDescription[];
  readonly messages: readonly Message[];
  /** Version whose context the messages are. Absent for a context that was never compacted. */
  readonly version?: number;
  readonly maxOutputTokens: number;
}

export interface AnswerParts extends Pick<ModelAnswer, 'content' | 'toolCalls'> {
  readonly end: NonNullable<ModelAnswer['end']>;
  readonly items: readonly RawItem[];
}

/** Index of the message that a block comes from. `NO_ORIGIN` stands for content that rendering added. */
export type Origin = number;
export const NO_ORIGIN: Origin = -1;

/** A call as it is sent: a legal id, a legal name, and arguments that are a JSON object. */
export interface WireCall {
  readonly id: string;
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** The input as text: the model's own text if that is a JSON object. */
  readonly arguments: string;
}

/** One message of a request, the same for every format: no empty content, results directly behind their calls. */
export type ArrangedItem =
  | {
      readonly kind: 'user';
      readonly origin: Origin;
      readonly parts: readonly SentPart[];
      /** The provider's own compaction of this summary. It is sent in place of the text if the format allows that. */
      readonly raw?: readonly RawItem[];
    }
  | {
      readonly kind: 'assistant';
      readonly origin: Origin;
      /** The text is empty only beside calls. */
      readonly text: string;
      readonly calls: readonly WireCall[];
      /** Number of thinking items that the model wrote, whether or not they are sent (A7). */
      readonly thoughts: number;
      /** The provider's own items, if they may go back to this model. Invalid thinking is left out. */
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

export interface Violation {
  /** Code as in docs/reference/wire.md: X1, A4, C1, R2 … */
  readonly rule: string;
  /** Path in the body, such as `messages[3].content[0]`. */
  readonly path: string;
  /** Never holds contents of the request. */
  readonly message: string;
}
