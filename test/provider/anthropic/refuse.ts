import type { JsonObject } from '../json.ts';
import type { Refusal } from '../refusal.ts';

export function refuse(rule: string, message: string, errorCode?: string): Refusal {
  return {
    rule,
    status: 400,
    type: 'invalid_request_error',
    message,
    ...(errorCode === undefined ? {} : { details: { error_code: errorCode } }),
  };
}

/** A content block with its path, as the provider writes paths. */
export interface PlacedBlock {
  readonly block: JsonObject;
  readonly type: string;
  /** Path such as `messages.3.content.0`. */
  readonly path: string;
}
