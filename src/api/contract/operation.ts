import { z } from 'zod';
import { keyIdSchema, type Scope } from '../../domain/access-key.ts';
import type { ErrorCode } from '../../domain/errors.ts';
import { idSchema } from '../../domain/ids.ts';
import type { HttpCode } from '../http/problem.ts';

export type RouteError = ErrorCode | HttpCode;

/**
 * One operation for callers: a row of the tables in this folder. Its key is its only name: the method of the client and
 * of the HTTP client, and the `operationId`.
 *
 * All that can be derived follows from the row: the route (`http/routes.ts`), the OpenAPI document (`http/openapi.ts`)
 * and the method of the HTTP client (`http-client/requests.ts`). A plain read needs a row and a function in `client`.
 * An answer over HTTP may differ from what the method returns. The row says how, and both sides read the row.
 *
 * Types of inputs follow from the schemas. Types of answers stand beside the rows, because the schema of an answer
 * allows further fields, and a derived type would allow them, too.
 *
 * The arguments of a method are the parameters of the path, in their order, and then one object with all other fields.
 * An operation whose path names no conversation takes `tenant` in that object.
 */
export interface Operation {
  readonly method: 'get' | 'post' | 'delete';
  /** Path with parameters in braces, as in OpenAPI. */
  readonly path: `/v1/${string}`;
  readonly scope: Scope;
  /** Command that does the same, without `turnfold`, or the reason why the command line has none. */
  readonly command: string | { readonly none: string };
  readonly summary: string;
  /**
   * Codes of errors that the other fields do not imply. `listErrors` of `http/openapi.ts` adds the rest: errors of
   * access, of a body, of a write and of an id that is used twice.
   */
  readonly errors?: readonly RouteError[];
  /** Schema of the query, with the types of the client's input: numbers and booleans are not text. */
  readonly query?: z.ZodObject;
  /** Query of the request that stands as the example in the OpenAPI document (no query). */
  readonly exampleQuery?: Readonly<Record<string, string | number>>;
  /** Schema of the JSON body. The request may have no body if the schema accepts undefined. */
  readonly body?: z.ZodType;
  /** True for a body that changes nothing. Such a request needs only the scope `read`. */
  readonly onlyReads?: (body: never) => boolean;
  /** Status of a success (200). */
  readonly status?: 201 | 202;
  /** Schema of the body, or of the data of a stream's events. */
  readonly answer: z.ZodType;
  /** Present for a stream. */
  readonly answerType?: 'text/event-stream';
  /** Field with the id of a write, which a header `Idempotency-Key` can name instead. */
  readonly repeatedBy?: 'turn' | 'operation';
  /** True for a write that a repeated request does not do twice, even if the request names no id. */
  readonly repeatsItself?: true;
  /** Earlier name, from which ids of `Idempotency-Key` are derived: a retry may reach a later release. */
  readonly keyName?: string;
  /** True if the route holds a whole context, so that a large answer needs a share of the server's memory. */
  readonly holdsContext?: true;
  /** True if the request stays open until a turn has an outcome. The server limits the number of such requests. */
  readonly waits?: true;
  /** Arguments of the method before its object, if they are not the parameters of the path. */
  readonly args?: readonly string[];
  /** Member of the body that the method returns. Absent: the whole body. */
  readonly member?: string;
  /** Field of the body that the method does not return, because its caller knows the value. */
  readonly onlyInBody?: 'conversation' | 'format';
  /** Part of the method's result that has a tenant, which the body leaves out: the result, or the entries of a list. */
  readonly tenantless?: 'body' | 'conversations' | 'turns';
}

export type Operations = Readonly<Record<string, Operation>>;

const PARAMETERS: Readonly<Record<string, z.ZodType>> = {
  conversation: idSchema.describe('Id of the conversation.'),
  turn: idSchema.describe('Id of the turn.'),
  proposal: idSchema.describe('Id of the proposal.'),
  key: keyIdSchema.describe('Id of the access key.'),
  webhook: idSchema.describe('Id of the webhook.'),
  response: z.string().min(1).max(400).describe('Id of the response.'),
  version: z.coerce.number().int().min(0).describe('Number of a kept version. 0 is the whole log.'),
};

export function listParameters(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
}

export function pathParameters(path: string): z.ZodObject {
  return z.object(Object.fromEntries(listParameters(path).map((name) => [name, PARAMETERS[name] ?? idSchema])));
}

export function listArguments({ args, path }: Operation): readonly string[] {
  return args ?? listParameters(path);
}

export function takesObject(operation: Operation): boolean {
  const { query, body } = operation;
  return query !== undefined || body !== undefined || !listArguments(operation).includes('conversation');
}

export const CONVERSATION = '/v1/conversations/{conversation}';
export const TURN = `${CONVERSATION}/turns/{turn}` as const;

/** Maximum time that a request may ask to wait, in ms. Proxies often end a request after 60 s. */
export const MAX_WAIT_MS = 60_000;

export function limitOf(most: number) {
  return z.number().int().min(1).max(most).default(100).describe('Maximum number of items.');
}

/** For answers, which turnfold writes and never parses. */
export function unboundedList<Item extends z.ZodType>(item: Item): z.ZodArray<Item> {
  return z.array(item);
}

export function unboundedRecord<Value extends z.ZodType>(value: Value): z.ZodRecord<z.ZodString, Value> {
  return z.record(z.string(), value);
}

export const timeSchema = z.number().describe('ms since epoch, by the clock of Redis');

export const problemSchema = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.number().int(),
    code: z.string().describe('Error code for programs, as in docs/reference/errors.md and docs/reference/http.md.'),
    detail: z.string().describe('Explanation for people.'),
    field: z.string().optional().describe('Path of the wrong field, header or parameter.'),
    details: unboundedRecord(z.unknown()).optional().describe('Figures and ids that explain the error.'),
  })
  .meta({ id: 'Problem' });
