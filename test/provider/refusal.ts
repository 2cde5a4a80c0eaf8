import type { Issued } from './issued.ts';
import type { JsonObject } from './json.ts';

/** What the server answers to a request that a provider would not take. */
export interface Refusal {
  /** as the project's docs number them: A4, C1, R2 …; `request` where the request is no request */
  readonly rule: string;
  readonly status: number;
  /** `invalid_request_error` … */
  readonly type: string;
  readonly message: string;
  /** OpenAI only */
  readonly code?: string | null;
  /** OpenAI only */
  readonly param?: string | null;
  /** Anthropic only: `error.details` */
  readonly details?: JsonObject;
}

export interface Strictness {
  /**
   * What signatures and encrypted contents must be. `prefix`, the default: this server's own, over everything that stood
   * before them (A8); `block`: its own; `unchecked`: anything, for histories that no server wrote.
   */
  readonly signatures: 'prefix' | 'block' | 'unchecked';
  /** window of every model, in tokens */
  readonly windowTokens: number;
  /** largest request, in bytes */
  readonly maxBytes: number;
  /** Chat: the model's template takes user and assistant in turns only (C5) */
  readonly hasStrictTemplate: boolean;
  /** Chat: `reasoning_content` has to come back inside a tool loop (C7) */
  readonly needsReasoning: boolean;
  /** size of a request in tokens */
  readonly countTokens: (body: JsonObject) => number;
}

export interface CheckContext extends Strictness {
  readonly issued: Issued;
  /** values of the `anthropic-beta` header */
  readonly betas: ReadonlySet<string>;
  readonly bytes: number;
}

/** Yields what a provider would refuse, the first of it first: only that is answered. */
export type Check = (body: JsonObject, context: CheckContext) => Iterable<Refusal>;

export function findRefusal(checks: readonly Check[], body: JsonObject, context: CheckContext): Refusal | undefined {
  for (const check of checks) for (const refusal of check(body, context)) return refusal;
  return undefined;
}
