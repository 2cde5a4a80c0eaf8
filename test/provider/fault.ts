import type { ScriptedAnswer } from './answer.ts';
import type { JsonObject } from './json.ts';

/** Errors that every provider has, each with its own status, type and message. */
export const ERROR_NAMES = [
  'rate_limit',
  'token_rate_limit',
  'too_large_for_rate',
  'quota',
  'overloaded',
  'server_error',
  'bad_gateway',
  'timeout',
  'conflict',
  'overflow',
  'too_many_bytes',
  'unauthorized',
  'forbidden',
  'unknown_model',
  'invalid',
] as const;
export type ErrorName = (typeof ERROR_NAMES)[number];

/** A fault in place of an answer. */
export type Fault =
  | {
      readonly fault: ErrorName;
      /** Retry time, in the headers that the provider uses. */
      readonly retryAfterMs?: number;
      /** Replaces the provider's own message. */
      readonly message?: string;
    }
  /** Status 200 without an answer: a page, other JSON, an event that is not JSON. */
  | { readonly fault: 'garbage'; readonly as: 'page' | 'json' | 'event' }
  /** Ends the connection before the first byte. */
  | { readonly fault: 'reset' }
  /** Stays silent, from the start or after this many events, until the client leaves. */
  | { readonly fault: 'hang'; readonly answer?: ScriptedAnswer; readonly afterEvents?: number }
  /** Ends the stream or body in the middle. `orderly` ends it as if it were whole. */
  | {
      readonly fault: 'cut';
      readonly answer: ScriptedAnswer;
      readonly afterEvents?: number;
      readonly isOrderly?: boolean;
    }
  /** An error inside the stream. Becomes a status if the request asked for no stream. */
  | {
      readonly fault: 'stream_error';
      readonly error: ErrorName;
      readonly answer: ScriptedAnswer;
      readonly afterEvents?: number;
    }
  /** Sends the whole answer with a pause before each event. */
  | { readonly fault: 'slow'; readonly answer: ScriptedAnswer; readonly delayMs: number };

export function isErrorFault(fault: Fault): fault is Extract<Fault, { fault: ErrorName }> {
  return (ERROR_NAMES as readonly string[]).includes(fault.fault);
}

/** An error in the form in which the server sends it. */
export interface ErrorReply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A string is the page of a proxy. */
  readonly body: JsonObject | string;
}

export function writePage(status: number, title: string): ErrorReply {
  const heading = `${status} ${title}`;
  return {
    status,
    body: `<html>\r\n<head><title>${heading}</title></head>\r\n<body>\r\n<center><h1>${heading}</h1></center>\r\n<hr><center>cloudflare</center>\r\n</body>\r\n</html>\r\n`,
  };
}
