import { z } from 'zod';
import type { Scope } from '../../domain/access-key.ts';
import { idSchema } from '../../domain/ids.ts';

/**
 * One operation for callers. Its key in `operations` is its only name: the client's method, the HTTP client's method
 * and the `operationId`.
 *
 * An operation once stood in fourteen places under five names, and one new read changed 21 files. Now everything that a
 * machine can derive follows from the row: the route (`http/routes.ts`), the OpenAPI document (`http/openapi.ts`) and
 * the HTTP client (`http-client/requests.ts`). A plain read needs a row and a function in `client`, and no code in
 * them. The row describes how an answer over HTTP differs from what the method returns. So both sides read one
 * description.
 *
 * Types of inputs follow from the schemas. Types of answers stand beside the rows: the schema of an answer allows
 * further fields, and a derived type would allow them, too.
 *
 * The arguments of a method are the parameters of the path, in their order, and then one object with all other fields.
 * An operation whose path names no conversation takes `tenant` in that object.
 */
export interface Operation {
  readonly method: 'get' | 'post' | 'delete';
  /** Path with parameters in braces, as in OpenAPI. */
  readonly path: `/v1/${string}`;
  readonly scope: Scope;
  readonly summary: string;
  /** Schema of the query. The client's input has the same schema, so numbers and booleans are not text there. */
  readonly query?: z.ZodObject;
  /** Schema of the JSON body. The request may have no body if the schema accepts undefined. */
  readonly body?: z.ZodType;
  /** Recognizes a body that changes nothing. Such a request needs only the scope `read`. */
  readonly onlyReads?: (body: never) => boolean;
  /** Status of a success (200). */
  readonly status?: 201 | 202;
  /** Schema of the answer's body. For a stream: the schema of the data of its events. */
  readonly answer: z.ZodType;
  /** Present for a stream. */
  readonly answerType?: 'text/event-stream';
  /** Field with the id of a write, which a header `Idempotency-Key` can name instead. */
  readonly repeatedBy?: 'turn' | 'operation';
  /** True for a write that is not done twice, even if the repeated request names no id. */
  readonly repeatsItself?: true;
  /**
   * Name that is hashed with the header `Idempotency-Key` into the id of the write, if it is not the operation's name.
   * A retry may reach a later release, so the name must outlive every renaming.
   */
  readonly keyName?: string;
  /** True if the route holds a context in memory. A large answer then needs a share of the memory of the server. */
  readonly holdsContext?: true;
  /** True if the request stays open until a turn has an outcome. The server limits how many such requests are open. */
  readonly waits?: true;
  /** Arguments of the method before its object, if they are not the parameters of the path. */
  readonly args?: readonly string[];
  /** Member of the body that the method returns. Absent: the whole body. */
  readonly member?: string;
  /**
   * The part of the answer that names no tenant, because the caller has only one: the body itself, or the entries of
   * this list.
   */
  readonly tenantless?: 'body' | 'conversations' | 'turns';
}

export type Operations = Readonly<Record<string, Operation>>;

const PARAMETERS: Readonly<Record<string, z.ZodType>> = {
  conversation: idSchema.describe('Id of the conversation.'),
  turn: idSchema.describe('Id of the turn.'),
  proposal: idSchema.describe('Id of the proposal.'),
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

/** Schema of a list in an answer. turnfold writes answers and never parses them, so the list needs no bound. */
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
