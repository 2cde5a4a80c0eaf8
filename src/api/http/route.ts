import { z } from 'zod';
import type { Scope } from '../../domain/access-key.ts';
import { idSchema, type NamedConversation } from '../../domain/ids.ts';
import type { TurnfoldClient } from '../client/index.ts';
import type { AnswerMemory } from './answer-memory.ts';
import type { HttpAppOptions } from './app-options.ts';
import type { Caller } from './caller.ts';
import type { Connection, StreamLimits } from './event-stream.ts';
import type { Readers } from './readers.ts';

/** Header of the answer to a new turn: its state. A repeated request gets the same body, but perhaps another state. */
export const STATE_HEADER = 'turnfold-turn-state';

/** Services of the server that each route may use. */
export interface RouteServices {
  readonly client: TurnfoldClient;
  readonly readers: Readers;
  readonly streams: StreamLimits;
  /** Memory for answers that hold a context. */
  readonly memory: AnswerMemory;
  /** Path under which the routes are mounted, without a slash at its end. */
  readonly basePath: string;
  readonly fleet?: HttpAppOptions['fleet'] | undefined;
  /** Receives each error that is a defect of the server, not a fault of the caller. */
  readonly onError: (error: unknown) => void;
}

/** One request to a route, with validated parts. */
export interface Call<Query = unknown, Body = unknown> extends RouteServices {
  readonly caller: Caller;
  /** True if the server refuses every change. */
  readonly isReadOnly: boolean;
  readonly request: Request;
  /** Name of the route's operation in the OpenAPI document. */
  readonly operation: string;
  /** Ends the connection of the request, if the server can. */
  readonly cut: Connection['cut'] | undefined;
  readonly query: Query;
  readonly body: Body;
  /** Parameter of the path. */
  readonly param: (name: string) => string;
  /** The conversation of the path, in the tenant of the caller. */
  readonly name: NamedConversation;
}

/** Answer of a route that is not a stream. */
export interface JsonAnswer {
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

type Method = 'get' | 'post' | 'delete';

interface RouteFacts {
  /** Name of the operation in the OpenAPI document, unique. */
  readonly operation: string;
  readonly method: Method;
  /** Path with parameters in braces, as in OpenAPI. */
  readonly path: `/v1/${string}`;
  readonly scope: Scope;
  readonly summary: string;
  /** True for a write that the header `Idempotency-Key` makes repeatable. */
  readonly hasKey?: true;
  /** Status of a success (200). */
  readonly status?: number;
  /** Schema of the answer. For a stream: the schema of the data of its events. */
  readonly result: z.ZodType;
  /** Media type of the answer (application/json). */
  readonly resultType?: string;
  /** True if the route holds a context in memory. A large answer then needs a share of the memory of the server. */
  readonly holdsContext?: true;
}

/** A route with the schemas of its request. Query parameters are text, so their schemas coerce. */
export interface Route extends RouteFacts {
  readonly query?: z.ZodObject | undefined;
  readonly body?: z.ZodType | undefined;
  /** True if the request may have no body. */
  readonly isBodyOptional?: boolean | undefined;
  /** Recognizes a body that changes nothing. Such a request needs only the scope `read`. */
  readonly onlyReads?: ((body: never) => boolean) | undefined;
  readonly handle: (call: Call<never, never>) => Promise<JsonAnswer | Response>;
}

interface RouteInput<Query, Body> extends RouteFacts {
  readonly query?: z.ZodType<Query> & z.ZodObject;
  readonly body?: z.ZodType<Body>;
  readonly isBodyOptional?: true;
  readonly onlyReads?: (body: Body) => boolean;
  readonly handle: (call: Call<Query, Body>) => Promise<JsonAnswer | Response>;
}

/** Defines a route. The types of `query` and `body` in `handle` follow from the schemas. */
export function defineRoute<Query = unknown, Body = unknown>(route: RouteInput<Query, Body>): Route {
  return route;
}

const PARAMETERS: Readonly<Record<string, z.ZodType>> = {
  conversation: idSchema.describe('Id of the conversation.'),
  turn: idSchema.describe('Id of the turn.'),
  proposal: idSchema.describe('Id of the proposal.'),
  response: z.string().min(1).max(400).describe('Id of the response.'),
  version: z.coerce.number().int().min(0).describe('Number of a kept version. 0 is the whole log.'),
};

/** Schemas of the parameters in a path. */
export function pathParameters(path: string): z.ZodObject {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  return z.object(Object.fromEntries(names.map((name) => [name, PARAMETERS[name] ?? idSchema])));
}

/** Writes a path as the router expects it: `:turn` for `{turn}`. */
export function routerPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}

/** Path of a conversation or of something in it, for the header `Location`. */
export function locate({ basePath }: RouteServices, ...segments: readonly string[]): string {
  return [`${basePath}/v1/conversations`, ...segments.map(encodeURIComponent)].join('/');
}
