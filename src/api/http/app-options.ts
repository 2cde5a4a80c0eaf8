import { getHeapStatistics } from 'node:v8';
import type { z } from 'zod';
import type { Scope } from '../../domain/access-key.ts';
import { JSON_TEXT_BOUNDS } from '../../domain/json-text.ts';
import type { AccessKeys, ConversationName, TurnfoldClient, Webhooks } from '../client/index.ts';
import type { RouteError } from '../contract/operation.ts';
import type { AccessOptions } from './access.ts';
import type { Caller } from './caller.ts';
import type { Connection, StreamLimits } from './event-stream.ts';
import type { Readers } from './readers.ts';
import type { BodyLimits } from './request-body.ts';
import type { FindContext } from './turn-contexts.ts';

/** Limits of a server. Defaults are in parentheses. */
export interface HttpLimits {
  /** Maximum bytes of a request body (4 MiB). */
  readonly maxBodyBytes?: number;
  /** Maximum nesting depth of the JSON of a body (100). */
  readonly maxDepth?: number;
  /** Maximum number of values and names in the JSON of a body (60,000). A list or an object counts twice. */
  readonly maxValues?: number;
  /** Time for a body to arrive, in ms (30,000). */
  readonly bodyTimeoutMs?: number;
  /** Maximum number of streams and waiting requests at a time (2,000). */
  readonly maxReaders?: number;
  /** Memory in bytes for answers that hold a whole context until they are sent (a quarter of Node's heap limit). */
  readonly answerMemoryBytes?: number;
  /** Time without an event after which a stream sends a comment, in ms (15,000). */
  readonly heartbeatMs?: number;
  /** Time in which a client must accept an event, in ms (30,000). A client that reads nothing is then disconnected. */
  readonly stalledMs?: number;
  /** Longest time that a request of a protocol waits for the end of a turn, in ms (600,000). */
  readonly maxWaitMs?: number;
  /**
   * Time between two checks of the caller of a stream or waiting request, in ms (2,000). 0: no checks, e.g. because
   * `authenticate` accepts a token only once.
   */
  readonly accessCheckMs?: number;
}

export const LIMIT_DEFAULTS: Required<HttpLimits> = {
  maxBodyBytes: 4_194_304,
  maxDepth: 100,
  maxValues: JSON_TEXT_BOUNDS.maxValues,
  bodyTimeoutMs: 30_000,
  maxReaders: 2_000,
  answerMemoryBytes: Math.floor(getHeapStatistics().heap_size_limit / 4),
  heartbeatMs: 15_000,
  stalledMs: 30_000,
  maxWaitMs: 600_000,
  accessCheckMs: 2_000,
};

export interface AnsweredRequest {
  /** Name of the operation in the OpenAPI document. Undefined if no route matched. */
  readonly operation: string | undefined;
  /** HTTP status of the answer. */
  readonly status: number;
  readonly durationMs: number;
}

export interface ProtocolRoute {
  /** Name of the operation in the OpenAPI document, unique. */
  readonly operation: string;
  /** Method of HTTP. */
  readonly method: 'get' | 'post' | 'delete';
  /** Path with parameters in braces, as in OpenAPI. */
  readonly path: `/${string}`;
  /** Rights that a caller needs, all of them. */
  readonly scopes: readonly Scope[];
  /** Title of the operation in the document. */
  readonly summary: string;
  /** Schema of the query parameters. */
  readonly query?: z.ZodObject;
  /** Schema of the headers that the route reads. */
  readonly headers?: z.ZodObject;
  /** Schema of the JSON body, by which the protocol validates it. */
  readonly body?: z.ZodType;
  /** Status of a success (200). */
  readonly status?: 201 | 202;
  /** Schemas of a success by media type. For a stream: the schema of the data of its events. */
  readonly results: Readonly<Record<string, z.ZodType>>;
  /** Codes of errors of this route. The document adds those of access, of a query, of a body and of a write. */
  readonly errors?: readonly RouteError[];
  /** Description of the answer 204. Absent if the route never answers 204. */
  readonly empty?: string;
}

/** Writes an error. `onDefect` receives unexpected errors, which callers do not see. */
export type AnswerError = (error: unknown, onDefect: (error: unknown) => void) => Response;

export interface MountedProtocol {
  /** Routes that the protocol answers. */
  readonly routes: readonly ProtocolRoute[];
  /** Writes an error in the form of the protocol. Absent: as problem+json. */
  readonly answerError?: AnswerError;
  /** Path that belongs to the protocol alone, so that it also writes the errors of unknown paths below it. */
  readonly base?: `/${string}`;
  /** Answers a request of a caller who has the scopes of the route. */
  readonly fetch: (request: Request, server: ServerFacts) => Response | Promise<Response>;
}

/** A read that holds a context: the live one, or that of a version. */
export interface HeldContext {
  /** Client of `guard`, which knows the size of the context. */
  readonly client: Pick<TurnfoldClient, 'describe'>;
  /** Conversation of the context. */
  readonly conversation: ConversationName;
  /** False for a context of a version, which may be as large as the whole log. */
  readonly isLive: boolean;
  /** Ends the wait for memory. */
  readonly signal: AbortSignal;
}

export interface ServerFacts {
  /** Returns a client that reaches only the conversations of the caller. */
  readonly guard: (client: TurnfoldClient) => TurnfoldClient;
  /** Refuses a conversation before an answer begins. Needs a client of `guard`. @throws access_denied */
  readonly checkConversation: (conversation: ConversationName) => Promise<void>;
  /** The same, asked each time: a conversation may have got an owner since. @throws access_denied */
  readonly checkConversationNow: (conversation: ConversationName) => Promise<void>;
  /** Finds what `contextFor` gives to new turns of the request. Absent: the server has no such function. */
  readonly findContext: FindContext | undefined;
  /** Sender of the request. */
  readonly caller: Caller;
  /** Ends the connection of the request, if the server can. */
  readonly cut: Connection['cut'] | undefined;
  /** Path under which the routes are mounted, without a slash at its end. */
  readonly basePath: string;
  /** Counts streams and waiting requests, which end when the server stops, or the caller loses its access. */
  readonly readers: Readers;
  /** Time limits of streams. */
  readonly streams: StreamLimits;
  /** Limits of request bodies. */
  readonly body: BodyLimits;
  /**
   * Runs a read that holds a whole context. A large context waits for its share of the server's memory.
   * @throws message_too_large for a context that is larger than the memory, too_many_readers after a long wait
   */
  readonly holdContext: <Result>(held: HeldContext, read: () => Promise<Result>) => Promise<Result>;
  /** Longest time that a request waits for an answer, in ms. */
  readonly maxWaitMs: number;
  /** Receives unexpected errors, which callers do not see. */
  readonly onError: (error: unknown) => void;
}

/** A client of `openClient` or `openHttpClient`. Without keys and webhooks, their routes answer `not_offered`. */
export interface ServedClient extends TurnfoldClient {
  /** Access keys. Absent: the routes of keys answer `not_offered`. */
  readonly keys?: Omit<AccessKeys, 'authenticate'>;
  /** Webhooks of tenants. Absent: the routes of webhooks answer `not_offered`. */
  readonly webhooks?: Webhooks;
}

export interface HttpAppOptions extends AccessOptions, Partial<Pick<ServerFacts, 'basePath' | 'onError'>> {
  /** Client through which every route works. */
  readonly client: ServedClient;
  /** true: requests that would change something get 403 `read_only`, whatever the rights of the caller (false). */
  readonly isReadOnly?: boolean;
  /** Limits of requests. */
  readonly limits?: HttpLimits;
  /** Protocols beside the routes. They use the same callers. */
  readonly protocols?: readonly MountedProtocol[];
  /** Reads the state of workers and queues, as `Fleet` in the document. Absent: `/v1/fleet` answers `not_offered`. */
  readonly fleet?: () => Promise<object>;
  /** Receives each answered request. */
  readonly onRequest?: (request: AnsweredRequest) => void;
}

export interface HttpApp {
  /** Answers a request. */
  readonly fetch: (request: Request, connection?: Connection) => Promise<Response>;
  /** The OpenAPI 3.1 document, which is served at `/v1/openapi.json`. */
  readonly document: object;
  /** Number of streams and waiting requests at this moment. */
  readonly readers: number;
  /** Ends all streams and waiting requests. Their clients continue at another server. */
  close(): void;
}
