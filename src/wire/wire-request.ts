import type { Message } from '../domain/message.ts';
import type { ModelAnswer, ToolDescription } from '../domain/model.ts';
import type { ModelAbilities } from '../domain/model-options.ts';
import type { CacheTtl } from '../domain/policy.ts';
import type { RawItem, WireFormat } from '../domain/raw-items.ts';
import type { SentPart } from './parts.ts';

export interface WireRequest {
  readonly model: string;
  readonly system: string;
  readonly tools: readonly ToolDescription[];
  readonly messages: readonly Message[];
  /** Version of the context. Absent: the context was never compacted. */
  readonly version?: number;
  readonly maxOutputTokens: number;
  /** Time for which the provider's prompt cache keeps the start. Absent: the provider's default. */
  readonly cacheTtl?: CacheTtl;
  /** Parts besides text that the model reads. Absent: not known, so all parts are sent. */
  readonly inputs?: ModelAbilities['inputs'];
}

export interface AnswerParts extends Pick<ModelAnswer, 'content' | 'toolCalls' | 'isFiltered'> {
  readonly end: NonNullable<ModelAnswer['end']>;
  readonly items: readonly RawItem[];
}

/** Index of the logged message from which a block was made. `NO_ORIGIN`: turnfold added the block. */
export type Origin = number;
export const NO_ORIGIN: Origin = -1;

/** A tool call with a legal id, a legal name, and arguments that are a JSON object. */
export interface WireCall {
  readonly id: string;
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** Arguments as the model wrote them, if they are a JSON object. */
  readonly arguments: string;
}

export type ArrangedItem =
  | {
      readonly kind: 'user';
      readonly origin: Origin;
      readonly parts: readonly SentPart[];
      /** The provider's own compaction, sent instead of this summary if the format allows that. */
      readonly raw?: readonly RawItem[] | undefined;
    }
  | {
      readonly kind: 'assistant';
      readonly origin: Origin;
      /** Text of the answer, empty only beside tool calls. */
      readonly text: string;
      readonly calls: readonly WireCall[];
      /** Number of thinking items that the model wrote, including items that are not sent (wire rule A7). */
      readonly thoughts: number;
      /** The provider's verbatim items that may be sent back to this model. */
      readonly raw?: readonly RawItem[] | undefined;
    }
  | {
      readonly kind: 'result';
      readonly origin: Origin;
      readonly callId: string;
      readonly parts: readonly SentPart[];
      readonly isError: boolean;
    }
  | { readonly kind: 'system'; readonly origin: Origin; readonly text: string };

export type ArrangedAssistant = Extract<ArrangedItem, { kind: 'assistant' }>;
export type ArrangedResult = Extract<ArrangedItem, { kind: 'result' }>;

export interface Rendered<Body> {
  readonly format: WireFormat;
  readonly body: Body;
  /** Origin of each block of each message, by which wire rules X10 and A8 are checked. */
  readonly origins: readonly (readonly Origin[])[];
  /** Hash of system texts and tools, by which later requests check thinking (wire rule A8). */
  readonly prefix: string;
}

export interface Violation {
  /** Code of the rule in docs/reference/wire.md, such as X1, A4, C1 or R2. */
  readonly rule: string;
  readonly path: string;
  readonly message: string;
}
