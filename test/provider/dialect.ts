import type { IncomingHttpHeaders } from 'node:http';
import type { Answer } from './answer.ts';
import type { ErrorName, ErrorReply } from './fault.ts';
import type { Issued } from './issued.ts';
import type { JsonObject } from './json.ts';
import type { CheckContext, Refusal } from './refusal.ts';

export interface ServerEvent {
  readonly event?: string;
  /** Data of the event. A string is sent unchanged. */
  readonly data: JsonObject | string;
}

/** An answer in a provider's format, whole and as stream events. */
export interface RenderedAnswer {
  readonly body: JsonObject;
  readonly events: readonly ServerEvent[];
}

export interface ErrorDetail {
  readonly model: string;
  readonly message?: string;
  /** Time that a provider names in the error itself. Other providers send it in headers. */
  readonly retryAfterMs?: number;
}

/** A wire format, as the test server of its provider implements it. */
export interface Dialect {
  readonly format: 'anthropic' | 'openai-chat' | 'openai-responses' | 'gemini';
  /** Prefix of tool call ids. */
  readonly callPrefix: string;
  /** Name of the response header with the request id. */
  readonly requestIdHeader: string;
  /** @param apiKey the only accepted key. If absent, every key is accepted. */
  readonly authorize: (headers: IncomingHttpHeaders, apiKey?: string) => Refusal | undefined;
  readonly refuse: (body: JsonObject, context: CheckContext) => Refusal | undefined;
  /** Returns true if a streamed request is refused by an event with status 200. */
  readonly refusesInStream?: (refusal: Refusal) => boolean;
  readonly render: (answer: Answer, request: JsonObject, issued: Issued) => RenderedAnswer;
  readonly writeRefusal: (refusal: Refusal) => ErrorReply;
  readonly writeError: (name: ErrorName, detail: ErrorDetail) => ErrorReply;
  /** Returns the events of an error that comes after the stream has started. */
  readonly writeStreamError: (reply: ErrorReply) => readonly ServerEvent[];
  /** Returns the response headers that ask the client to retry after this time. */
  readonly writeRetryAfter: (ms: number) => Readonly<Record<string, string>>;
}
