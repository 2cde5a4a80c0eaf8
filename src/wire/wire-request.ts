import type { Message } from '../domain/message.ts';
import type { ModelAnswer, ToolDescription } from '../domain/model.ts';
import type { ModelAbilities } from '../domain/model-options.ts';
import type { CacheTtl } from '../domain/policy.ts';
import type { RawItem, WireFormat } from '../domain/raw-items.ts';
import type { SentPart } from './parts.ts';

export interface WireRequest {
  /** The model's name at its provider. */
  readonly model: string;
  readonly system: string;
  readonly tools: readonly ToolDescription[];
  readonly messages: readonly Message[];
  /** Version of the compacted context that the messages come from. Absent if the context was never compacted. */
  readonly version?: number;
  readonly maxOutputTokens: number;
  /** Time for which the provider's prompt cache keeps the request's start. Default: the provider's. */
  readonly cacheTtl?: CacheTtl;
  /** Parts besides text that the model reads. Absent: not known, so all are sent. */
  readonly inputs?: ModelAbilities['inputs'];
}

export interface AnswerParts extends Pick<ModelAnswer, 'content' | 'toolCalls' | 'isFiltered'> {
  readonly end: NonNullable<ModelAnswer['end']>;
  readonly items: readonly RawItem[];
}

/** Index of the log's message that a block of the request comes from. `NO_ORIGIN` marks content that turnfold added. */
export type Origin = number;
export const NO_ORIGIN: Origin = -1;

/** A tool call as it is sent: with a legal id, a legal name, and arguments that are a JSON object. */
export interface WireCall {
  readonly id: string;
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** The arguments as JSON text. The model's own text is used if it is a JSON object. */
  readonly arguments: string;
}

/**
 * One message of a request before it is converted to a provider's format: without empty content, and with tool results
 * directly after their calls.
 */
export type ArrangedItem =
  | {
      readonly kind: 'user';
      readonly origin: Origin;
      readonly parts: readonly SentPart[];
      /**
       * A compaction that the provider wrote for this summary. The compaction is sent in place of the summary's text if
       * the format allows that.
       */
      readonly raw?: readonly RawItem[];
    }
  | {
      readonly kind: 'assistant';
      readonly origin: Origin;
      /** Text of the message. Empty only if the message has tool calls. */
      readonly text: string;
      readonly calls: readonly WireCall[];
      /**
       * Number of thinking items that the model wrote in this message, including those that are not sent (wire rule
       * A7).
       */
      readonly thoughts: number;
      /** The provider's verbatim items, if they may be sent back to this model. Invalid thinking is left out. */
      readonly raw?: readonly RawItem[];
    }
  | {
      readonly kind: 'result';
      readonly origin: Origin;
      readonly callId: string;
      readonly parts: readonly SentPart[];
      readonly isError: boolean;
    }
  /** A system message behind other messages. */
  | { readonly kind: 'system'; readonly origin: Origin; readonly text: string };

export type ArrangedAssistant = Extract<ArrangedItem, { kind: 'assistant' }>;
export type ArrangedResult = Extract<ArrangedItem, { kind: 'result' }>;

export interface Rendered<Body> {
  readonly format: WireFormat;
  readonly body: Body;
  /**
   * For each block of each message in the body: the index of the log's message that it comes from. The checks of order
   * (wire rule X10) and thinking (wire rule A8) need these indexes.
   */
  readonly origins: readonly (readonly Origin[])[];
  /**
   * Hash of the system texts and tools. The hash is recorded with the answer in `RawItems.prefix`, so that a later
   * request can check its thinking (wire rule A8).
   */
  readonly prefix: string;
}

export interface Violation {
  /** Code of the wire rule as in docs/reference/wire.md, such as X1, A4, C1 or R2. */
  readonly rule: string;
  /** Path in the body, such as `messages[3].content[0]`. */
  readonly path: string;
  /** Description of the violation. It never holds contents of the request. */
  readonly message: string;
}
