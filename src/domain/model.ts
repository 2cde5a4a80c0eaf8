import { brandErrors, hasBrand } from './error-brand.ts';
import type { ModelWindow } from './limits.ts';
import type { Message, ToolCall } from './message.ts';
import type { WireFormat } from './raw-items.ts';
import { readSafely } from './thrown.ts';

/** US dollars for a million tokens. */
export interface ModelPrices {
  /** of a million tokens read */
  readonly input: number;
  /** of a million tokens read from the cache */
  readonly cachedInput: number;
  /** input that is written to the provider's cache */
  readonly cacheWrite: number;
  /** of a million tokens written */
  readonly output: number;
}

/** The encodings that are counted exactly. */
export const ENCODINGS = ['o200k_base', 'cl100k_base'] as const;

/** What is known of a model before it is called. */
export interface ModelProfile extends ModelWindow {
  /** name of the model */
  readonly id: string;
  /** how its tokens are counted */
  readonly encoding: (typeof ENCODINGS)[number];
  /** how its requests look on the wire; absent: it takes our messages as they are */
  readonly format?: WireFormat;
  /** how its adapter renders them, in the format's own options: a version is checked as it will be sent */
  readonly renderOptions?: object;
  /** what it costs */
  readonly prices?: ModelPrices;
}

export interface ToolDescription {
  /** how the model calls it */
  readonly name: string;
  /** what it does */
  readonly description: string;
  /** JSON Schema of the arguments */
  readonly parameters: Readonly<Record<string, unknown>>;
}

export interface ModelRequest {
  /** the system prompt, pins included */
  readonly system: string;
  /** what the model may call */
  readonly tools: readonly ToolDescription[];
  /** the context, oldest first; a summary is a message of its own role */
  readonly messages: readonly Message[];
  /** our own size of the request, in tokens */
  readonly tokens: number;
  /** number of the version that the messages are the context of; absent: of none */
  readonly version?: number;
  /** least of this and the model's own cap */
  readonly maxOutputTokens?: number;
  /** stable over retries of the same step */
  readonly idempotencyKey: string;
  /** aborts when the answer is not wanted any more */
  readonly signal: AbortSignal;
  /** told each piece of the answer's text as it comes; what it was told may still end in an error */
  readonly onText?: (piece: string) => void;
  /** told what the provider has counted so far, where it says so before the answer ends */
  readonly onUsage?: (usage: ModelUsage) => void;
  /** told each model of a chain that failed, before the next one is asked */
  readonly onPassedOver?: (model: string, why: ModelErrorKind) => void;
}

/** Tokens as the provider counted them. */
export interface ModelUsage {
  /** everything that was read, cached and newly cached tokens included */
  readonly inputTotal: number;
  /** of `inputTotal`: read from the provider's cache */
  readonly cachedInput?: number;
  /** of `inputTotal`: written to the provider's cache */
  readonly cacheWrite?: number;
  /** written */
  readonly output: number;
  /** what of the output is sent again with the next request */
  readonly outputKept: number;
}

export interface ModelAnswer {
  /** its text */
  readonly content: string;
  /** with the provider's ids */
  readonly toolCalls: readonly ToolCall[];
  /** absent: `complete`. `cut_off` at the output cap; `refusal`: the model or its provider declined */
  readonly end?: 'complete' | 'cut_off' | 'refusal';
  /** tokens as the provider counted them */
  readonly usage?: ModelUsage;
  /** which model answered, where that is not the profile's id */
  readonly model?: string;
  /** the provider's items, verbatim: `RawItems` */
  readonly raw?: unknown;
}

/** What a provider made of a whole request by its own compaction. */
export interface ModelCompaction {
  /** what it says, where that can be read */
  readonly text?: string;
  /** tokens as the provider counted them */
  readonly usage?: ModelUsage;
  /** the provider's items, verbatim, to be sent back in place of what was compacted: `RawItems` */
  readonly raw: unknown;
}

export interface Model {
  /** what is known of the model */
  readonly profile: ModelProfile;
  /** @throws ModelError */
  /** answers a request; throws a ModelError where it cannot */
  generate(request: ModelRequest): Promise<ModelAnswer>;
  /**
   * The provider's own compaction of everything that the request says; absent: it has none.
   * @throws ModelError
   */
  compact?(request: ModelRequest): Promise<ModelCompaction>;
}

/**
 * What a failed model call means for the turn: `overflow` asks for a pass, `retry` suspends until `retryAt`, `invalid` (the
 * request's form was refused) rolls a version back that a pass made, `fatal` fails the turn. A rate limit is a `retry`, even
 * where its text says "too many tokens".
 */
export const MODEL_ERROR_KINDS = ['overflow', 'retry', 'invalid', 'fatal'] as const;
export type ModelErrorKind = (typeof MODEL_ERROR_KINDS)[number];

export interface ModelErrorOptions {
  /** ms since epoch; absent: the caller's own backoff */
  readonly retryAt?: number;
  /** what the provider called it, or the rule of ours that the request broke */
  readonly code?: string;
  /** of a refused request: its form as JSON, cut to what the refusal names, without contents */
  readonly form?: string;
  /** of an answer that is of no use, and was paid for */
  readonly usage?: ModelUsage;
  /** the error behind it */
  readonly cause?: unknown;
}

const BRAND = Symbol.for('turnfold.ModelError');

export class ModelError extends Error {
  static {
    brandErrors(this, BRAND);
  }

  /** what to do about it */
  readonly kind: ModelErrorKind;
  /** ms since epoch: not before then */
  readonly retryAt: number | undefined;
  /** the provider's own */
  readonly code: string | undefined;
  /** the format's rule that the request broke */
  readonly form: string | undefined;
  /** tokens that the failed call cost */
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

/** Of whichever copy of this package: never by `instanceof`. */
export function isModelError(error: unknown, kind?: ModelErrorKind): error is ModelError {
  return hasBrand(error, BRAND) && (kind === undefined || readSafely(error, 'kind') === kind);
}
