import type { Message } from '../domain/message.ts';
import type { ModelAnswer, ToolDescription } from '../domain/model.ts';
import type { RawItem, WireFormat } from '../domain/raw-items.ts';
import type { SentPart } from './parts.ts';

/** What is to be sent, in our own form. */
export interface WireRequest {
  /** the provider's name of the model */
  readonly model: string;
  readonly system: string;
  readonly tools: readonly ToolDescription[];
  readonly messages: readonly Message[];
  /** number of the version that the messages are the context of; absent: nothing was ever cut */
  readonly version?: number;
  readonly maxOutputTokens: number;
}

/** What a provider's whole answer says, beside the items that it says it with. */
export type AnswerParts = Pick<ModelAnswer, 'content' | 'toolCalls' | 'end'> & { readonly items: readonly RawItem[] };

/** Index into the request's messages; `NO_ORIGIN` where rendering put something in. */
export type Origin = number;
export const NO_ORIGIN: Origin = -1;

/** A call as it is sent: a legal id and name, and arguments that are a JSON object whatever the model wrote. */
export interface WireCall {
  readonly id: string;
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** the same as text: the model's own where that is an object */
  readonly arguments: string;
}

/** One message of a request, the same for every format: nothing empty, calls with their results behind them. */
export type ArrangedItem =
  | {
      readonly kind: 'user';
      readonly origin: Origin;
      readonly parts: readonly SentPart[];
      /** of a summary that this model's provider wrote: its own compaction, to be sent instead where a format allows */
      readonly raw?: readonly RawItem[];
    }
  | {
      readonly kind: 'assistant';
      readonly origin: Origin;
      /** '' only beside calls */
      readonly text: string;
      readonly calls: readonly WireCall[];
      /** how many items of thinking its model wrote with it in this format, sent or not (A7) */
      readonly thoughts: number;
      /** the provider's own items where this very model takes them back; without thinking where that no longer holds */
      readonly raw?: readonly RawItem[];
    }
  | {
      readonly kind: 'result';
      readonly origin: Origin;
      readonly callId: string;
      readonly parts: readonly SentPart[];
      readonly isError: boolean;
    };

export type AssistantItem = Extract<ArrangedItem, { kind: 'assistant' }>;
export type ResultItem = Extract<ArrangedItem, { kind: 'result' }>;

/** What rendering changed besides its format, so that it can be undone. */
export interface Marks {
  readonly format: WireFormat;
  /** ids as they are sent → ids in the messages */
  readonly callIds: ReadonlyMap<string, string>;
  /** messages that the body does not say as they are (summaries, empty texts, broken arguments …), whole */
  readonly replaced: ReadonlyMap<Origin, Message>;
  /** messages that are sent as their raw items */
  readonly raw: ReadonlySet<Origin>;
  /** names of tools that were put in, because a call remains of each (X6) */
  readonly stubs: ReadonlySet<string>;
  /** origins of the system's texts, in order, where a format keeps them apart from its messages; `NO_ORIGIN`: the agent's */
  readonly system: readonly Origin[];
  /** origins of what is sent, in wire order: of each message, and within it of each block */
  readonly origins: readonly (readonly Origin[])[];
  /** fingerprint of the system texts and tools: an adapter keeps it as `RawItems.prefix` of the answer (A8) */
  readonly prefix: string;
}

export interface Rendered<Body> {
  readonly body: Body;
  readonly marks: Marks;
}

/** A rule of a format that a request breaks. */
export interface Violation {
  /** as the project's docs number them: X1, A4, C1, R2 … */
  readonly rule: string;
  /** in the body, e.g. `messages[3].content[0]` */
  readonly path: string;
  /** without contents */
  readonly message: string;
}
