import type { Issued } from './issued.ts';
import type { JsonObject } from './json.ts';

/** Response to a request that the provider would refuse. */
export interface Refusal {
  /** Rule code as in docs/reference/wire.md, such as A4, C1 or R2. `request` for a malformed request. */
  readonly rule: string;
  readonly status: number;
  /** Error type such as `invalid_request_error`. */
  readonly type: string;
  readonly message: string;
  /** Error code. OpenAI only. */
  readonly code?: string | null;
  /** Request parameter that caused the error. OpenAI only. */
  readonly param?: string | null;
  /** Anthropic's `error.details`. */
  readonly details?: JsonObject;
}

export interface Strictness {
  /**
   * Which signatures and encrypted contents a request may have:
   * - `prefix` (default): only those that this server issued after the same messages (wire rule A8)
   * - `block`: all that this server issued
   * - `unchecked`: all
   */
  readonly signatures: 'prefix' | 'block' | 'unchecked';
  /** Window of every model, in tokens. */
  readonly windowTokens: number;
  /** Maximum size of a request in bytes. */
  readonly maxBytes: number;
  /** Chat Completions only: the chat template requires alternating user and assistant messages (wire rule C5). */
  readonly hasStrictTemplate: boolean;
  /** Models take system messages behind other messages (wire rules A1, C5). */
  readonly takesLaterSystem: boolean;
  /** Chat Completions only: `reasoning_content` must be sent back inside a tool loop (wire rule C7). */
  readonly needsReasoning: boolean;
  /** Counts the tokens of a request. */
  readonly countTokens: (body: JsonObject) => number;
}

export interface CheckContext extends Strictness {
  readonly issued: Issued;
  /** Values of the `anthropic-beta` header. */
  readonly betas: ReadonlySet<string>;
  readonly bytes: number;
}

/** Yields the refusals of a request in order. Only the first is sent. */
export type Check = (body: JsonObject, context: CheckContext) => Iterable<Refusal>;

export function findRefusal(checks: readonly Check[], body: JsonObject, context: CheckContext): Refusal | undefined {
  for (const check of checks) for (const refusal of check(body, context)) return refusal;
  return undefined;
}
