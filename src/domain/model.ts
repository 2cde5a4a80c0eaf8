import type { ModelWindow } from './limits.ts';
import type { Message, ToolCall } from './message.ts';
import type { WireFormat } from './raw-items.ts';
import { brandErrors, hasBrand, readSafely } from './thrown.ts';

/** Prices in US dollars for a million tokens. */
export interface ModelPrices {
  /** Price of input that is not cached. */
  readonly input: number;
  /** Price of input that the provider reads from its cache. */
  readonly cachedInput: number;
  /** Price of input that the provider writes to its cache. */
  readonly cacheWrite: number;
  readonly output: number;
}

/** Encodings whose tokens are counted exactly. */
export const ENCODINGS = ['o200k_base', 'cl100k_base'] as const;
export type Encoding = (typeof ENCODINGS)[number];

/** Properties of a model that are known before a call. */
export interface ModelProfile extends ModelWindow {
  /** Name of the model. */
  readonly id: string;
  /** Encoding by which its tokens are counted. */
  readonly encoding: (typeof ENCODINGS)[number];
  /** Wire format of its requests. Absent: the model takes our messages as they are. */
  readonly format?: WireFormat;
  /** Options of the format's renderer in its adapter. A new version is checked in the form in which it will be sent. */
  readonly renderOptions?: object;
  readonly prices?: ModelPrices;
}

export interface ToolDescription {
  /** Name by which the model calls the tool. */
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

export interface ModelRequest {
  /** System prompt, pins included. */
  readonly system: string;
  readonly tools: readonly ToolDescription[];
  /** Context, oldest message first. A summary is a message with its own role. */
  readonly messages: readonly Message[];
  /** Tokens of the request by our own count. */
  readonly tokens: number;
  /** Number of the version that the messages show. Absent if they show no version. */
  readonly version?: number;
  /** Limit of the answer in tokens. The model's own cap also holds. */
  readonly maxOutputTokens?: number;
  /** Key that stays the same over retries of a step. */
  readonly idempotencyKey: string;
  /** Signal that aborts when the answer is not needed any more. */
  readonly signal: AbortSignal;
  /** Listener for each piece of the answer's text as it arrives. The call may still end in an error. */
  readonly onText?: (piece: string) => void;
  /** Listener for the usage so far, if the provider reports it before the end of the answer. */
  readonly onUsage?: (usage: ModelUsage) => void;
  /** Listener for each failed model of a chain, called before the next model. */
  readonly onPassedOver?: (model: string, why: ModelErrorKind) => void;
}

/** Tokens as the provider counted them. */
export interface ModelUsage {
  /** Tokens of the input, including those read from and written to the cache. */
  readonly inputTotal: number;
  /** Tokens of `inputTotal` that were read from the provider's cache. */
  readonly cachedInput?: number;
  /** Tokens of `inputTotal` that were written to the provider's cache. */
  readonly cacheWrite?: number;
  readonly output: number;
  /** Tokens of the output that the next request contains again. */
  readonly outputKept: number;
}

export interface ModelAnswer {
  readonly content: string;
  /** Tool calls, with the provider's ids. */
  readonly toolCalls: readonly ToolCall[];
  /**
   * End of the answer: `cut_off` at the output cap, or `refusal` by the model or its provider. Absent means `complete`.
   */
  readonly end?: 'complete' | 'cut_off' | 'refusal';
  /** Tokens as the provider counted them. */
  readonly usage?: ModelUsage;
  /** Name of the model that answered, if it differs from the profile's id. */
  readonly model?: string;
  /** Items of the provider, unchanged: `RawItems`. */
  readonly raw?: unknown;
}

/** Result of a provider's own compaction of a whole request. */
export interface ModelCompaction {
  /** Readable text of the compaction, if there is one. */
  readonly text?: string;
  /** Tokens as the provider counted them. */
  readonly usage?: ModelUsage;
  /** Items of the provider that replace the compacted messages, unchanged: `RawItems`. */
  readonly raw: unknown;
}

export interface Model {
  readonly profile: ModelProfile;
  /**
   * Answers a request.
   * @throws ModelError
   */
  generate(request: ModelRequest): Promise<ModelAnswer>;
  /**
   * Runs the provider's own compaction of a whole request. Absent if the provider has none.
   * @throws ModelError
   */
  compact?(request: ModelRequest): Promise<ModelCompaction>;
}

/**
 * Consequence of a failed model call for its turn. `overflow` requests a pass. `retry` suspends the turn until
 * `retryAt`. `invalid` means that the form of the request was refused: the worker rolls back the version that a pass
 * made. `fatal` fails the turn. A rate limit is a `retry`, even if its text says "too many tokens".
 */
export const MODEL_ERROR_KINDS = ['overflow', 'retry', 'invalid', 'fatal'] as const;
export type ModelErrorKind = (typeof MODEL_ERROR_KINDS)[number];

export interface ModelErrorOptions {
  /** Time of the next attempt in ms since epoch. Absent: the caller chooses its own backoff. */
  readonly retryAt?: number;
  /** Error code of the provider, or the rule of ours that the request broke. */
  readonly code?: string;
  /** Form of a refused request as JSON, cut to the entries that the refusal names, without contents. */
  readonly form?: string;
  /** Tokens billed for an answer that cannot be used. */
  readonly usage?: ModelUsage;
  readonly cause?: unknown;
}

const BRAND = Symbol.for('turnfold.ModelError');

export class ModelError extends Error {
  static {
    brandErrors(this, BRAND);
  }

  /** Consequence for the turn. */
  readonly kind: ModelErrorKind;
  /** Earliest time of the next attempt in ms since epoch. */
  readonly retryAt: number | undefined;
  /** Error code of the provider. */
  readonly code: string | undefined;
  /** Form of a refused request as JSON, without contents. */
  readonly form: string | undefined;
  /** Tokens that the failed call cost. */
  readonly usage: ModelUsage | undefined;

  /** @param message without contents of the conversation */
  constructor(kind: ModelErrorKind, message: string, options: ModelErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ModelError';
    this.kind = kind;
    this.retryAt = options.retryAt;
    this.code = options.code;
    this.form = options.form;
    this.usage = options.usage;
  }
}

/** Recognizes errors of every copy of this package, unlike `instanceof`. */
export function isModelError(error: unknown, kind?: ModelErrorKind): error is ModelError {
  return hasBrand(error, BRAND) && (kind === undefined || readSafely(error, 'kind') === kind);
}
