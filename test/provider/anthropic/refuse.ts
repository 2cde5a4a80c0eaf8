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

/** A block with its path in the provider's notation. */
export interface PlacedBlock {
  readonly block: JsonObject;
  readonly type: string;
  /** `messages.3.content.0` */
  readonly path: string;
}
