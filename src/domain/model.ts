import type { GateSettings, ModelGate } from './gate.ts';
import type { ModelWindow } from './limits.ts';
import type { Message, ToolCall } from './message.ts';
import type { ModelAbilities } from './model-options.ts';

import type { CacheTtl } from './policy.ts';
import type { ProviderHabits } from './provider-habits.ts';
import type { ProviderSchema } from './provider-schema.ts';
import type { WireFormat } from './raw-items.ts';
import { brandErrors, hasBrand, readSafely } from './thrown.ts';
import type { TurnToolChoice } from './turn-own.ts';

/** Prices in US dollars per million tokens. */
export interface ModelPrices {
  /** Input tokens that are not cached. */
  readonly input: number;
  /** Input tokens read from the provider's cache. */
  readonly cachedInput: number;
  /** Input tokens written to the provider's cache. */
  readonly cacheWrite: number;
  readonly output: number;
  /** Prices of larger requests, ascending. The last step that applies sets the price of the whole request. */
  readonly steps?: readonly PriceStep[];
}

export interface PriceStep extends Omit<ModelPrices, 'steps'> {
  /** The step applies above this number of input tokens, cached tokens included. */
  readonly aboveInputTokens: number;
}

/** A picture counts one token for each square of pixels, times a factor, up to a maximum. */
export interface PictureFormula {
  /** Edge of a square, in pixels. */
  readonly patchPixels: number;
  /** Default 1. */
  readonly factor?: number;
  /** Maximum tokens of a picture. Larger pictures are scaled down. */
  readonly maxTokens: number;
  /** Longest edge. Larger pictures are scaled down. */
  readonly maxPixels?: number;
}

export const ENCODINGS = ['o200k_base', 'cl100k_base'] as const;
export type Encoding = (typeof ENCODINGS)[number];

export interface ModelProfile extends ModelWindow {
  readonly id: string;
  /** Encoding used to count the model's tokens. */
  readonly encoding: (typeof ENCODINGS)[number];
  /** Absent: the model accepts turnfold's own message format. */
  readonly format?: WireFormat;
  /** Options for rendering in that format. With them, a new version is checked exactly as it will be sent. */
  readonly renderOptions?: object;
  /** Provider's tokens for each token of turnfold's count, until counts have been observed (default 1). */
  readonly tokenFactor?: number;
  readonly prices?: ModelPrices;
  /** Absent: not known, so options are not checked. */
  readonly abilities?: ModelAbilities;
  /** Why the provider would refuse a request with tools. Absent: it accepts tools. */
  readonly toolRefusal?: string;
  /** Day on which the provider retires the model, as `YYYY-MM-DD`. Absent: no day is announced. */
  readonly retiresOn?: string;
  /** Habits of the provider. They override the habits that turnfold knows by the model's name. */
  readonly habits?: ProviderHabits;
  /** Absent: turnfold uses the formula that it knows by the model's name. */
  readonly pictures?: PictureFormula;
}

export interface ToolDescription {
  readonly name: string;
  readonly description: string;
  /** JSON Schema. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

export interface ToolCallPiece {
  /** Index of the call in the answer, from 0. */
  readonly call: number;
  /** Name of the tool, only in the first piece of a call. */
  readonly name?: string;
  /** Next characters of the call's arguments. */
  readonly arguments?: string;
}

export interface ModelRequest {
  /** System prompt, followed by the policy's pinned texts. */
  readonly system: string;
  readonly tools: readonly ToolDescription[];
  /** Oldest first. A summary of compacted messages has the role `summary`. */
  readonly messages: readonly Message[];
  /** Tokens of the request, counted by turnfold. */
  readonly tokens: number;
  /** Version that the messages come from, if any. */
  readonly version?: number;
  /** Maximum output tokens of this request. The model's own maximum applies as well. */
  readonly maxOutputTokens?: number;
  /** The request asks for a summary, in which the model must not call a tool. */
  readonly isSummary?: true;
  /** `off`: the model must not think. Absent: the model thinks as configured. */
  readonly thinking?: 'off';
  /** Use of the provider's prompt cache. Absent: the provider's own rules apply. */
  readonly cache?: {
    /** Hash of the conversation. A provider sends requests with the same key to the servers that cache their start. */
    readonly key: string;
    /** Time for which the provider keeps the request's start. */
    readonly ttl: CacheTtl;
  };
  /** Hash of the person or tenant whom a provider can block. */
  readonly safetyIdentifier?: string;
  /** Schema of the answer. If the provider can enforce a schema, the request asks for that. */
  readonly answerSchema?: ProviderSchema;
  /** Replaces the model's own option. `required` is only in the first request of a turn. */
  readonly toolChoice?: Exclude<TurnToolChoice, 'auto'>;
  /** The same for all retries of one step. */
  readonly idempotencyKey: string;
  /** Aborts when the answer is no longer needed. */
  readonly signal: AbortSignal;
  /** Set by turnfold. A list of models passes each model's call through this gate. */
  readonly gate?: ModelGate;
  /** Pieces of the answer's text. The model call may still fail afterwards. */
  readonly onText?: (piece: string) => void;
  /** Called with each piece of the model's reasoning, if the provider sends it. */
  readonly onReasoning?: (piece: string) => void;
  /** Called with each piece of a tool call. The complete calls are in the answer. */
  readonly onToolCall?: (piece: ToolCallPiece) => void;
  /** Usage so far, if the provider reports usage before the answer is complete. */
  readonly onUsage?: (usage: ModelUsage) => void;
  /** Called when a model of a fallback list failed, and the next one will be called. */
  readonly onPassedOver?: (model: string, why: ModelErrorKind) => void;
}

export interface ModelUsage {
  /** All input tokens, including tokens that the provider read from or wrote to its cache. */
  readonly inputTotal: number;
  /** Part of `inputTotal`. */
  readonly cachedInput?: number;
  /** Part of `inputTotal`. */
  readonly cacheWrite?: number;
  readonly output: number;
  /** Output tokens that the next request will contain again. */
  readonly outputKept: number;
}

export interface ModelAnswer {
  readonly content: string;
  /** Tool calls with the provider's ids. */
  readonly toolCalls: readonly ToolCall[];
  /** `cut_off`: at the maximum output. `refusal`: the model or its provider declined. Absent means `complete`. */
  readonly end?: 'complete' | 'cut_off' | 'refusal';
  /** A filter of the provider stopped the answer. The turn's messages then leave the context. */
  readonly isFiltered?: boolean;
  /** Token usage, counted by the provider. */
  readonly usage?: ModelUsage;
  /** ms since epoch. The gate of the model is closed until then. */
  readonly nextCallAt?: number | undefined;
  /** Name of the model that answered, if it differs from the requested model. */
  readonly model?: string;
  /** The provider's original items, unchanged: `RawItems`. */
  readonly raw?: unknown;
  /** Set by turnfold from `onReasoning`. */
  readonly reasoning?: string;
}

export interface ModelCompaction {
  /** Readable text of the summary, if the provider returns any. */
  readonly text?: string;
  /** Token usage, counted by the provider. */
  readonly usage?: ModelUsage;
  /** ms since epoch. The gate of the model is closed until then. */
  readonly nextCallAt?: number | undefined;
  /** A `RawItems` value: the provider's own items, kept as received, which replace the compacted messages. */
  readonly raw: unknown;
}

export interface Model {
  readonly profile: ModelProfile;
  /** Absent: the model's gate has no configured limits and is named by the model's id. */
  readonly gate?: GateSettings;
  /** Models that this model tries in order. Each has a gate of its own. */
  readonly fallbacks?: readonly Model[];
  /** Sends a request and returns the answer. @throws ModelError if the call fails */
  generate(request: ModelRequest): Promise<ModelAnswer>;
  /** Absent if the provider cannot compact a request by itself. @throws ModelError if the call fails */
  compact?(request: ModelRequest): Promise<ModelCompaction>;
}

/**
 * - `overflow`: the request was too long. The turn requests compaction.
 * - `retry`: the turn waits until `retryAt`. Rate limits belong here, even if their text says "too many tokens".
 * - `invalid`: the provider refused the form of the request. The worker goes back to the version before.
 * - `fatal`: the turn fails.
 */
export const MODEL_ERROR_KINDS = ['overflow', 'retry', 'invalid', 'fatal'] as const;
export type ModelErrorKind = (typeof MODEL_ERROR_KINDS)[number];

export interface ModelErrorOptions {
  /** Next attempt in ms since epoch. Absent: the caller chooses the delay. */
  readonly retryAt?: number;
  /** Code of the provider, or the broken message-format rule. */
  readonly code?: string;
  /** Outline of the refused request as JSON, without contents, with only the entries that the error names. */
  readonly form?: string;
  /** Tokens billed for an answer that cannot be used. */
  readonly usage?: ModelUsage;
  /** The provider refused what the messages hold, such as a picture. The turn's messages then leave the context. */
  readonly refusesContents?: boolean;
  /** True if the provider refused a setting of the request, such as the schema of the answer, and not its messages. */
  readonly refusesSettings?: boolean;
  /**
   * True if an `invalid` error names a size or a limit, not a message. The larger parent version would not help then.
   */
  readonly mayBeTooLong?: boolean;
  /** True if the provider limits calls or is overloaded, so all workers wait. Default: true with `retryAt`. */
  readonly isLimit?: boolean;
  readonly cause?: unknown;
}

const BRAND = Symbol.for('turnfold.ModelError');

export class ModelError extends Error {
  static {
    brandErrors(this, BRAND);
  }

  /** Kind of failure, which decides how the turn continues. */
  readonly kind: ModelErrorKind;
  /** Earliest time of the next attempt in ms since epoch. */
  readonly retryAt: number | undefined;
  readonly code: string | undefined;
  /** Outline of a refused request as JSON, without contents. */
  readonly form: string | undefined;
  /** Tokens that were billed for the failed call. */
  readonly usage: ModelUsage | undefined;
  /** True if the provider refused what the messages say or hold. */
  readonly refusesContents: boolean;
  /** True if the provider refused a setting of the request, such as the schema of the answer. */
  readonly refusesSettings: boolean;
  /** True if the error names no message, but a size or a limit. */
  readonly mayBeTooLong: boolean;
  /** True if the provider limits the rate of calls, or is overloaded. */
  readonly isLimit: boolean;

  constructor(kind: ModelErrorKind, message: string, options: ModelErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ModelError';
    this.kind = kind;
    this.retryAt = options.retryAt;
    this.code = options.code;
    this.form = options.form;
    this.usage = options.usage;
    this.refusesContents = options.refusesContents === true;
    this.refusesSettings = options.refusesSettings === true;
    this.mayBeTooLong = options.mayBeTooLong === true;
    this.isLimit = kind === 'retry' && (options.isLimit ?? options.retryAt !== undefined);
  }
}

/** Unlike `instanceof`, works when two copies of the package are loaded. */
export function isModelError(error: unknown, kind?: ModelErrorKind): error is ModelError {
  return hasBrand(error, BRAND) && (kind === undefined || readSafely(error, 'kind') === kind);
}
