import type { Message } from '../domain/message.ts';
import type { ModelAnswer, ToolDescription } from '../domain/model.ts';
import type { ModelAbilities } from '../domain/model-options.ts';
import type { CacheTtl } from '../domain/policy.ts';
import type { RawItem, WireFormat } from '../domain/raw-items.ts';
import type { SentPart } from './parts.ts';

export interface WireRequest {
  /** Name of the model at its provider. */
  readonly model: string;
  readonly system: string;
  readonly tools: readonly ToolDescription[];
  readonly messages: readonly Message[];
  /** Absent: the context was never compacted. */
  readonly version?: number;
  readonly maxOutputTokens: number;
  /** Time for which the provider's prompt cache keeps the start. Absent: the provider's default. */
  readonly cacheTtl?: CacheTtl;
  /** Parts besides text that the model reads. Absent: turnfold does not know, and sends all parts. */
  readonly inputs?: ModelAbilities['inputs'];
}

export interface AnswerParts extends Pick<ModelAnswer, 'content' | 'toolCalls' | 'isFiltered'> {
  readonly end: NonNullable<ModelAnswer['end']>;
  readonly items: readonly RawItem[];
}

/** Index of the log's message from which a block of the request was made. `NO_ORIGIN`: turnfold added the block. */
export type Origin = number;
export const NO_ORIGIN: Origin = -1;

/** A call with a legal id, a legal name, and arguments that are a JSON object. */
export interface WireCall {
  readonly id: string;
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** Arguments as the model wrote them, if they are a JSON object. */
  readonly arguments: string;
}

/** A message before it gets a provider's form. It has contents, and results directly follow their calls. */
export type ArrangedItem =
  | {
      readonly kind: 'user';
      readonly origin: Origin;
      readonly parts: readonly SentPart[];
      /**
       * Compaction that the provider wrote for this summary. It is sent instead of the summary if the format allows
       * that.
       */
      readonly raw?: readonly RawItem[];
    }
  | {
      readonly kind: 'assistant';
      readonly origin: Origin;
      /** Text of the message. Empty only beside tool calls. */
      readonly text: string;
      readonly calls: readonly WireCall[];
      /** Number of thinking items that the model wrote, including items that are not sent (wire rule A7). */
      readonly thoughts: number;
      /** The provider's verbatim items that may be sent back to this model, without invalid thinking. */
      readonly raw?: readonly RawItem[];
    }
  | {
      readonly kind: 'result';
      readonly origin: Origin;
      readonly callId: string;
      readonly parts: readonly SentPart[];
      readonly isError: boolean;
    }
  /** A system message after other messages. */
  | { readonly kind: 'system'; readonly origin: Origin; readonly text: string };

export type ArrangedAssistant = Extract<ArrangedItem, { kind: 'assistant' }>;
export type ArrangedResult = Extract<ArrangedItem, { kind: 'result' }>;

export interface Rendered<Body> {
  readonly format: WireFormat;
  readonly body: Body;
  /** Index of the log's message for each block of each message. Wire rules X10 and A8 are checked by these indexes. */
  readonly origins: readonly (readonly Origin[])[];
  /** Hash of system texts and tools, recorded in `RawItems.prefix` to check later thinking (wire rule A8). */
  readonly prefix: string;
}

export interface Violation {
  /** Code of the rule in docs/reference/wire.md, such as X1, A4, C1 or R2. */
  readonly rule: string;
  /** Path in the body, such as `messages[3].content[0]`. */
  readonly path: string;
  /** Description of the violation, without contents of the request. */
  readonly message: string;
}
