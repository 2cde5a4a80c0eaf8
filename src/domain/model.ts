import type { ModelWindow } from './limits.ts';
import type { Message, ToolCall } from './message.ts';

/** What is known of a model before it is called. */
export interface ModelProfile extends ModelWindow {
  readonly id: string;
  readonly encoding: 'o200k_base' | 'cl100k_base';
}

export interface ToolDescription {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments */
  readonly parameters: Readonly<Record<string, unknown>>;
}

export interface ModelRequest {
  readonly system: string;
  readonly tools: readonly ToolDescription[];
  /** the context, oldest first; a checkpoint is a message of its own role */
  readonly messages: readonly Message[];
  /** our own size of the request, in tokens */
  readonly tokens: number;
  /** stable over retries of the same step */
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
}

/** Tokens as the provider counted them. */
export interface ModelUsage {
  /** everything that was read, cached and newly cached tokens included */
  readonly inputTotal: number;
  readonly output: number;
  /** what of the output is sent again with the next request */
  readonly outputKept: number;
}

export interface ModelAnswer {
  readonly content: string;
  /** with the provider's ids */
  readonly toolCalls: readonly ToolCall[];
  readonly usage?: ModelUsage;
  /** the provider's item, verbatim */
  readonly raw?: unknown;
}

export interface Model {
  readonly profile: ModelProfile;
  /** @throws ModelError */
  generate(request: ModelRequest): Promise<ModelAnswer>;
}

/**
 * What a failed model call means for the turn: `overflow` asks for a pass, `retry` suspends until `retryAt`, `fatal` fails
 * the turn. A rate limit is a `retry`, even where its text says "too many tokens".
 */
export class ModelError extends Error {
  readonly kind: 'overflow' | 'retry' | 'fatal';
  /** ms since epoch; absent: the caller's own backoff */
  readonly retryAt: number | undefined;

  constructor(kind: ModelError['kind'], message: string, options: { retryAt?: number; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ModelError';
    this.kind = kind;
    this.retryAt = options.retryAt;
  }
}
