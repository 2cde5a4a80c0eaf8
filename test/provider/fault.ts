import type { ScriptedAnswer } from './answer.ts';
import type { JsonObject } from './json.ts';

/** Errors that the test server of every provider can return, each with the provider's own status, type and message. */
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

/** A response byte for byte as a gateway or a local server sends it. */
export interface RawAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Response body: the data of the events of a stream, JSON, or a page. */
  readonly body: readonly (JsonObject | string)[] | JsonObject | string;
  /** True if the stream ends without `data: [DONE]`. */
  readonly isCut?: boolean;
}

/** A fault that the test server sends in place of an answer. */
export type Fault =
  | { readonly fault: 'raw'; readonly answer: RawAnswer }
  | {
      readonly fault: ErrorName;
      /** Time after which the client may retry, sent in the provider's own headers. */
      readonly retryAfterMs?: number;
      /** Error message in place of the provider's own. */
      readonly message?: string;
    }
  /** Sends status 200 without an answer: an HTML page, unrelated JSON, or an event that is not JSON. */
  | { readonly fault: 'garbage'; readonly as: 'page' | 'json' | 'event' }
  /** Closes the connection before the first byte. */
  | { readonly fault: 'reset' }
  /** Sends nothing, from the start or after this many events, until the client closes the connection. */
  | { readonly fault: 'hang'; readonly answer?: ScriptedAnswer; readonly afterEvents?: number }
  /** Ends the stream or body in the middle. With `isOrderly`, the response looks complete. */
  | {
      readonly fault: 'cut';
      readonly answer: ScriptedAnswer;
      readonly afterEvents?: number;
      readonly isOrderly?: boolean;
    }
  /** Sends an error inside the stream. If the request asked for no stream, sends an error status. */
  | {
      readonly fault: 'stream_error';
      readonly error: ErrorName;
      readonly answer: ScriptedAnswer;
      readonly afterEvents?: number;
    }
  /** Sends the whole answer, with a pause before each event. */
  | { readonly fault: 'slow'; readonly answer: ScriptedAnswer; readonly delayMs: number };

export function isErrorFault(fault: Fault): fault is Extract<Fault, { fault: ErrorName }> {
  return (ERROR_NAMES as readonly string[]).includes(fault.fault);
}

/** An error in the form in which the test server sends it. */
export interface ErrorReply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Body of the response. A string is the error page of a proxy. */
  readonly body: JsonObject | string;
}

export function writePage(status: number, title: string): ErrorReply {
  const heading = `${status} ${title}`;
  return {
    status,
    body: `<html>\r\n<head><title>${heading}</title></head>\r\n<body>\r\n<center><h1>${heading}</h1></center>\r\n<hr><center>cloudflare</center>\r\n</body>\r\n</html>\r\n`,
  };
}
