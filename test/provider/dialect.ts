import type { IncomingHttpHeaders } from 'node:http';
import type { Answer } from './answer.ts';
import type { ErrorName, ErrorReply } from './fault.ts';
import type { Issued } from './issued.ts';
import type { JsonObject } from './json.ts';
import type { CheckContext, Refusal } from './refusal.ts';

export interface ServerEvent {
  readonly event?: string;
  /** text goes out as it is */
  readonly data: JsonObject | string;
}

/** An answer in a provider's form, whole and as it is streamed. */
export interface RenderedAnswer {
  readonly body: JsonObject;
  readonly events: readonly ServerEvent[];
}

export interface ErrorDetail {
  readonly model: string;
  readonly message?: string;
}

/** One wire format as its provider speaks it. */
export interface Dialect {
  readonly format: 'anthropic' | 'openai-chat' | 'openai-responses';
  /** how ids of tool calls begin */
  readonly callPrefix: string;
  /** name of the header that carries the request's id */
  readonly requestIdHeader: string;
  /** @param apiKey the one that is right; absent: any is */
  readonly authorize: (headers: IncomingHttpHeaders, apiKey?: string) => Refusal | undefined;
  readonly refuse: (body: JsonObject, context: CheckContext) => Refusal | undefined;
  /** whether a refusal comes as an event of a stream that was asked for, its status 200 */
  readonly refusesInStream?: (refusal: Refusal) => boolean;
  readonly render: (answer: Answer, request: JsonObject, issued: Issued) => RenderedAnswer;
  readonly writeRefusal: (refusal: Refusal) => ErrorReply;
  readonly writeError: (name: ErrorName, detail: ErrorDetail) => ErrorReply;
  /** an error after the stream has begun */
  readonly writeStreamError: (reply: ErrorReply) => readonly ServerEvent[];
  /** how long to wait */
  readonly writeRetryAfter: (ms: number) => Readonly<Record<string, string>>;
}
