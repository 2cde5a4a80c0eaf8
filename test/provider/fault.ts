import type { ScriptedAnswer } from './answer.ts';
import type { JsonObject } from './json.ts';

/** Errors that every provider has, each with its own status, type and words. */
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

/** What a provider does instead of answering. */
export type Fault =
  | {
      readonly fault: ErrorName;
      /** how long to wait, in the headers that the provider uses */
      readonly retryAfterMs?: number;
      /** instead of the provider's own words */
      readonly message?: string;
    }
  /** a 200 that is no answer: a page, another JSON, an event that is no JSON */
  | { readonly fault: 'garbage'; readonly as: 'page' | 'json' | 'event' }
  /** the connection ends before a byte */
  | { readonly fault: 'reset' }
  /** silence, from the beginning or after so many events, until the client goes */
  | { readonly fault: 'hang'; readonly answer?: ScriptedAnswer; readonly afterEvents?: number }
  /** the stream (or the body) ends in the middle; orderly: as if it were whole */
  | {
      readonly fault: 'cut';
      readonly answer: ScriptedAnswer;
      readonly afterEvents?: number;
      readonly isOrderly?: boolean;
    }
  /** an error inside the stream; where none was asked for, as a status */
  | {
      readonly fault: 'stream_error';
      readonly error: ErrorName;
      readonly answer: ScriptedAnswer;
      readonly afterEvents?: number;
    }
  /** the whole answer, with a pause before each event */
  | { readonly fault: 'slow'; readonly answer: ScriptedAnswer; readonly delayMs: number };

export function isErrorFault(fault: Fault): fault is Extract<Fault, { fault: ErrorName }> {
  return (ERROR_NAMES as readonly string[]).includes(fault.fault);
}

/** An error as it leaves the server. */
export interface ErrorReply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** text: a page of something between the client and the provider */
  readonly body: JsonObject | string;
}

export function writePage(status: number, title: string): ErrorReply {
  const heading = `${status} ${title}`;
  return {
    status,
    body: `<html>\r\n<head><title>${heading}</title></head>\r\n<body>\r\n<center><h1>${heading}</h1></center>\r\n<hr><center>cloudflare</center>\r\n</body>\r\n</html>\r\n`,
  };
}
