import type { z } from 'zod';
import type { NamedConversation } from '../../domain/ids.ts';
import type { TurnfoldClient } from '../client/index.ts';
import type { OperationName, operations } from '../contract/client.ts';
import type { Operation } from '../contract/operation.ts';
import type { AnswerMemory } from './answer-memory.ts';
import type { HttpAppOptions, ServedClient } from './app-options.ts';
import type { Caller } from './caller.ts';
import type { Connection, StreamLimits } from './event-stream.ts';
import type { Readers } from './readers.ts';

export interface RouteServices {
  readonly client: TurnfoldClient;
  /** Absent: the routes of keys answer `not_offered`. */
  readonly keys?: ServedClient['keys'] | undefined;
  /** Absent: the routes of webhooks answer `not_offered`. */
  readonly webhooks?: ServedClient['webhooks'] | undefined;
  readonly readers: Readers;
  readonly streams: StreamLimits;
  readonly memory: AnswerMemory;
  readonly basePath: string;
  readonly fleet?: HttpAppOptions['fleet'] | undefined;
  readonly onError: (error: unknown) => void;
}

export interface Call<Query = unknown, Body = unknown> extends RouteServices {
  readonly route: Route;
  readonly caller: Caller;
  readonly isReadOnly: boolean;
  readonly request: Request;
  readonly cut: Connection['cut'] | undefined;
  readonly query: Query;
  readonly body: Body;
  readonly params: Readonly<Record<string, unknown>>;
  readonly param: (name: string) => string;
  readonly name: NamedConversation;
}

export interface JsonAnswer {
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Route extends Operation {
  readonly operation: OperationName;
  readonly handle: (call: Call<never, never>) => Promise<JsonAnswer | Response>;
}

type Parsed<Row, Part extends 'query' | 'body'> = Row extends { readonly [P in Part]: infer Schema extends z.ZodType }
  ? z.output<Schema>
  : unknown;

/** Handlers of operations that need more than a call of the client's method. */
export type RouteHandlers = {
  readonly [Name in OperationName]?: (
    call: Call<Parsed<(typeof operations)[Name], 'query'>, Parsed<(typeof operations)[Name], 'body'>>,
  ) => Promise<JsonAnswer | Response>;
};

export function routerPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}

export function locate({ basePath }: RouteServices, ...segments: readonly string[]): string {
  return [`${basePath}/v1/conversations`, ...segments.map(encodeURIComponent)].join('/');
}
