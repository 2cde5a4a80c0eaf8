import type { Issued } from './issued.ts';
import type { JsonObject } from './json.ts';

/** Response to a request that a provider would refuse. */
export interface Refusal {
  /** Rule as in docs/reference/wire.md: A4, C1, R2 … `request` for a malformed request. */
  readonly rule: string;
  readonly status: number;
  /** `invalid_request_error` … */
  readonly type: string;
  readonly message: string;
  /** OpenAI only. */
  readonly code?: string | null;
  /** OpenAI only. */
  readonly param?: string | null;
  /** Anthropic's `error.details`. */
  readonly details?: JsonObject;
}

export interface Strictness {
  /**
   * Required signatures and encrypted contents:
   * - `prefix` (default): issued by this server for everything before them (A8)
   * - `block`: issued by this server
   * - `unchecked`: any
   */
  readonly signatures: 'prefix' | 'block' | 'unchecked';
  /** Window of every model in tokens. */
  readonly windowTokens: number;
  /** Largest request in bytes. */
  readonly maxBytes: number;
  /** Chat: the template requires alternating user and assistant messages (C5). */
  readonly hasStrictTemplate: boolean;
  /** Chat: `reasoning_content` must come back inside a tool loop (C7). */
  readonly needsReasoning: boolean;
  /** Size of a request in tokens. */
  readonly countTokens: (body: JsonObject) => number;
}

export interface CheckContext extends Strictness {
  readonly issued: Issued;
  /** Values of the `anthropic-beta` header. */
  readonly betas: ReadonlySet<string>;
  readonly bytes: number;
}

/** Yields refusals in order. Only the first is sent. */
export type Check = (body: JsonObject, context: CheckContext) => Iterable<Refusal>;

export function findRefusal(checks: readonly Check[], body: JsonObject, context: CheckContext): Refusal | undefined {
  for (const check of checks) for (const refusal of check(body, context)) return refusal;
  return undefined;
}
