import type { IncomingHttpHeaders } from 'node:http';
import type { Answer } from './answer.ts';
import type { ErrorName, ErrorReply } from './fault.ts';
import type { Issued } from './issued.ts';
import type { JsonObject } from './json.ts';
import type { CheckContext, Refusal } from './refusal.ts';

export interface ServerEvent {
  readonly event?: string;
  /** A string is sent as it is. */
  readonly data: JsonObject | string;
}

/** An answer in a provider's form, whole and streamed. */
export interface RenderedAnswer {
  readonly body: JsonObject;
  readonly events: readonly ServerEvent[];
}

export interface ErrorDetail {
  readonly model: string;
  readonly message?: string;
}

/** One wire format, as its provider implements it. */
export interface Dialect {
  readonly format: 'anthropic' | 'openai-chat' | 'openai-responses';
  /** Prefix of ids of tool calls. */
  readonly callPrefix: string;
  /** Name of the header with the request id. */
  readonly requestIdHeader: string;
  /** @param apiKey the valid key. Any key is valid if absent. */
  readonly authorize: (headers: IncomingHttpHeaders, apiKey?: string) => Refusal | undefined;
  readonly refuse: (body: JsonObject, context: CheckContext) => Refusal | undefined;
  /** True if a streamed request is refused by an event, with status 200. */
  readonly refusesInStream?: (refusal: Refusal) => boolean;
  readonly render: (answer: Answer, request: JsonObject, issued: Issued) => RenderedAnswer;
  readonly writeRefusal: (refusal: Refusal) => ErrorReply;
  readonly writeError: (name: ErrorName, detail: ErrorDetail) => ErrorReply;
  /** An error after the stream has started. */
  readonly writeStreamError: (reply: ErrorReply) => readonly ServerEvent[];
  /** Retry time. */
  readonly writeRetryAfter: (ms: number) => Readonly<Record<string, string>>;
}
