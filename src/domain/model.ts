import type { GateSettings, ModelGate } from './gate.ts';
import type { ModelWindow } from './limits.ts';
import type { Message, ToolCall } from './message.ts';
import type { ModelAbilities } from './model-options.ts';
import type { PictureFormula } from './picture-formula.ts';
import type { CacheTtl } from './policy.ts';
import type { ProviderHabits } from './provider-habits.ts';
import type { ProviderSchema } from './provider-schema.ts';
import type { WireFormat } from './raw-items.ts';
import { brandErrors, hasBrand, readSafely } from './thrown.ts';

/** Prices in US dollars per million tokens. */
export interface ModelPrices {
  /** Price of input tokens that are not cached. */
  readonly input: number;
  /** Price of input tokens that the provider reads from its cache. */
  readonly cachedInput: number;
  /** Price of input tokens that the provider writes to its cache. */
  readonly cacheWrite: number;
  readonly output: number;
  /** Prices of larger requests, in the order of their sizes. The last that applies is the price of the whole request. */
  readonly steps?: readonly PriceStep[];
}

/** Prices of requests with more than a number of input tokens. */
export interface PriceStep extends Omit<ModelPrices, 'steps'> {
  /** Number of input tokens above which the prices apply, cached ones included. */
  readonly aboveInputTokens: number;
}

/** Token encodings that turnfold counts exactly. */
export const ENCODINGS = ['o200k_base', 'cl100k_base'] as const;
export type Encoding = (typeof ENCODINGS)[number];

/** Properties of a model that are known before it is called. */
export interface ModelProfile extends ModelWindow {
  readonly id: string;
  /** Encoding used to count the model's tokens. */
  readonly encoding: (typeof ENCODINGS)[number];
  /** Wire format of the model's requests. Absent: the model accepts turnfold's own message format. */
  readonly format?: WireFormat;
  /**
   * Options for rendering a request in that format. With them, a new context version is checked exactly as it will be
   * sent.
   */
  readonly renderOptions?: object;
  /**
   * Tokens that the provider counts for each token of turnfold's own count, until its counts have been observed (default
   * 1).
   */
  readonly tokenFactor?: number;
  readonly prices?: ModelPrices;
  /** Abilities of the model, against which its options are checked. Absent: not known, so nothing is checked. */
  readonly abilities?: ModelAbilities;
  /** Why the provider would refuse a request with tools. Absent: it accepts tools. */
  readonly toolRefusal?: string;
  /** Day on which the provider retires the model, as `YYYY-MM-DD`. Absent: none is announced. */
  readonly retiresOn?: string;
  /** Requirements of the provider beyond its wire format. They win over those of the model's name. */
  readonly habits?: ProviderHabits;
  /** How the provider counts the tokens of a picture. Without a formula, turnfold takes that of the model's name. */
  readonly pictures?: PictureFormula;
}

export interface ToolDescription {
  /** Name by which the model calls the tool. */
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the tool's arguments. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** A piece of a tool call that the model is writing. */
export interface ToolCallPiece {
  /** Index of the call within the answer, from 0. */
  readonly call: number;
  /** Name of the tool, in the first piece of a call. */
  readonly name?: string;
  /** Next characters of the arguments. */
  readonly arguments?: string;
}

export interface ModelRequest {
  /** System prompt, including the policy's pinned texts. */
  readonly system: string;
  readonly tools: readonly ToolDescription[];
  /** Messages, oldest first. A summary of compacted messages has the role `summary`. */
  readonly messages: readonly Message[];
  /** Tokens of the request, counted by turnfold. */
  readonly tokens: number;
  /** Number of the context version that the messages come from. Absent if they come from no version. */
  readonly version?: number;
  /** Maximum tokens of the answer. The model's own maximum applies as well. */
  readonly maxOutputTokens?: number;
  /** True if the request asks for a summary, in which the model must not call a tool. */
  readonly isSummary?: true;
  /** `off`: the model answers without thinking, if it can. Absent: as the model was configured. */
  readonly thinking?: 'off';
  /** Hints for the provider's prompt cache. Absent: the provider's own rules apply. */
  readonly cache?: {
    /** Hash of the conversation. A provider sends requests with one key to the servers that hold their start. */
    readonly key: string;
    /** Time for which the provider keeps the request's start. */
    readonly ttl: CacheTtl;
  };
  /** Hash of the person or tenant who is responsible for the request. A provider can then block only them. */
  readonly safetyIdentifier?: string;
  /** Schema of the final answer. A provider that can hold an answer to a schema is asked to do so. */
  readonly answerSchema?: ProviderSchema;
  /** Key that is the same for all retries of one step, so that a provider can recognize them. */
  readonly idempotencyKey: string;
  /** Aborts when the answer is no longer needed. */
  readonly signal: AbortSignal;
  /** Lets calls through the gates of models. turnfold sets it, and a list of models passes each model's call to it. */
  readonly gate?: ModelGate;
  /** Called with each piece of the answer's text as it arrives. The model call may still fail afterwards. */
  readonly onText?: (piece: string) => void;
  /** Called with each piece of the model's reasoning, if the provider sends it. */
  readonly onReasoning?: (piece: string) => void;
  /** Called with each piece of a tool call as it arrives. The complete calls are in the answer. */
  readonly onToolCall?: (piece: ToolCallPiece) => void;
  /** Called with the token usage so far, if the provider reports usage before the answer is complete. */
  readonly onUsage?: (usage: ModelUsage) => void;
  /** Called for each model of a fallback list that failed, before the next model is called. */
  readonly onPassedOver?: (model: string, why: ModelErrorKind) => void;
}

/** Token usage of a model call, counted by the provider. */
export interface ModelUsage {
  /** All input tokens, including those that the provider read from or wrote to its cache. */
  readonly inputTotal: number;
  /** Tokens of `inputTotal` that were read from the provider's cache. */
  readonly cachedInput?: number;
  /** Tokens of `inputTotal` that were written to the provider's cache. */
  readonly cacheWrite?: number;
  readonly output: number;
  /** Output tokens that the next request will contain again. */
  readonly outputKept: number;
}

export interface ModelAnswer {
  readonly content: string;
  /** Tool calls of the answer, with the provider's ids. */
  readonly toolCalls: readonly ToolCall[];
  /**
   * How the answer ended. `cut_off`: it reached the maximum output. `refusal`: the model or its provider declined.
   * Absent means `complete`.
   */
  readonly end?: 'complete' | 'cut_off' | 'refusal';
  /** True if a filter of the provider stopped the answer. The turn's messages then leave the context. */
  readonly isFiltered?: boolean;
  /** Token usage, counted by the provider. */
  readonly usage?: ModelUsage;
  /** ms since epoch before which the provider would refuse the next call. The gate of the model is closed until then. */
  readonly nextCallAt?: number | undefined;
  /** Name of the model that answered, if it differs from the requested one. */
  readonly model?: string;
  /** The provider's original items of the answer, unchanged: `RawItems`. */
  readonly raw?: unknown;
}

/** Result when a provider compacts a whole request by itself. */
export interface ModelCompaction {
  /** Readable text of the compaction, if the provider returns any. */
  readonly text?: string;
  /** Token usage, counted by the provider. */
  readonly usage?: ModelUsage;
  /** ms since epoch before which the provider would refuse the next call. The gate of the model is closed until then. */
  readonly nextCallAt?: number | undefined;
  /** The provider's items that replace the compacted messages, unchanged: `RawItems`. */
  readonly raw: unknown;
}

export interface Model {
  readonly profile: ModelProfile;
  /** Settings of the model's gate. Absent: a gate without limits of its own, by the model's id. */
  readonly gate?: GateSettings;
  /** Models that this model tries in order. Each has a gate of its own. Absent for a single model. */
  readonly fallbacks?: readonly Model[];
  /**
   * Sends a request to the model and returns its answer.
   * @throws ModelError if the call fails
   */
  generate(request: ModelRequest): Promise<ModelAnswer>;
  /**
   * Lets the provider compact a whole request. Absent if the provider offers no compaction.
   * @throws ModelError if the call fails
   */
  compact?(request: ModelRequest): Promise<ModelCompaction>;
}

/**
 * Kinds of failed model calls.
 * - `overflow`: the request was too long. The turn requests compaction.
 * - `retry`: the turn is suspended until `retryAt`. Rate limits belong here, even if their text says "too many tokens".
 * - `invalid`: the provider refused the form of the request. The worker replaces a compacted context by the one before
 *   it.
 * - `fatal`: the turn fails.
 */
export const MODEL_ERROR_KINDS = ['overflow', 'retry', 'invalid', 'fatal'] as const;
export type ModelErrorKind = (typeof MODEL_ERROR_KINDS)[number];

export interface ModelErrorOptions {
  /** Time of the next attempt in ms since epoch. Absent: the caller chooses the delay. */
  readonly retryAt?: number;
  /** Error code of the provider, or the message-format rule that turnfold found broken. */
  readonly code?: string;
  /**
   * Outline of a refused request as JSON, without contents. Only the entries that the provider's error names are
   * included.
   */
  readonly form?: string;
  /** Tokens that were billed for an answer that cannot be used. */
  readonly usage?: ModelUsage;
  /**
   * True if the provider refused what the messages say or hold, such as a picture. The turn's messages then leave the
   * context, because each later request would hold them.
   */
  readonly refusesContents?: boolean;
  /**
   * True if an error of the kind `invalid` names no message, but a size or a limit. A context that a pass has just made is
   * then not replaced by its larger parent.
   */
  readonly mayBeTooLong?: boolean;
  /**
   * True if the provider limits the rate of calls, or is overloaded. All workers then wait with the calls of this model. An
   * error with `retryAt` counts as such.
   */
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
  /** Error code of the provider, or the broken message-format rule. */
  readonly code: string | undefined;
  /** Outline of a refused request as JSON, without contents. */
  readonly form: string | undefined;
  /** Tokens that were billed for the failed call. */
  readonly usage: ModelUsage | undefined;
  /** True if the provider refused what the messages say or hold. */
  readonly refusesContents: boolean;
  /** True if the error names no message, but a size or a limit. */
  readonly mayBeTooLong: boolean;
  /** True if the provider limits the rate of calls, or is overloaded. */
  readonly isLimit: boolean;

  /** @param message error text without contents of the conversation */
  constructor(kind: ModelErrorKind, message: string, options: ModelErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ModelError';
    this.kind = kind;
    this.retryAt = options.retryAt;
    this.code = options.code;
    this.form = options.form;
    this.usage = options.usage;
    this.refusesContents = options.refusesContents === true;
    this.mayBeTooLong = options.mayBeTooLong === true;
    this.isLimit = kind === 'retry' && (options.isLimit ?? options.retryAt !== undefined);
  }
}

/**
 * Checks whether a value is a ModelError. Unlike `instanceof`, it also works when two copies of the package are loaded.
 */
export function isModelError(error: unknown, kind?: ModelErrorKind): error is ModelError {
  return hasBrand(error, BRAND) && (kind === undefined || readSafely(error, 'kind') === kind);
}
