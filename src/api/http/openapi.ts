import { z } from 'zod';
import {
  createDocument,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathsObject,
  type ZodOpenApiResponseObject,
  type ZodOpenApiResponsesObject,
} from 'zod-openapi';
import { TurnfoldError } from '../../domain/errors.ts';
import { type Operation, pathParameters, problemSchema, type RouteError } from '../contract/operation.ts';
import type { AnswerError, MountedProtocol, ProtocolRoute } from './app-options.ts';
import { EVENT_STREAM } from './event-stream.ts';
import { addExamples } from './examples.ts';
import { IDEMPOTENCY_HEADER, idempotencyKeySchema } from './idempotency-key.ts';
import { answerProblem, HTTP_CODES, type HttpCode, HttpProblem, PROBLEM_TYPE } from './problem.ts';
import type { Route } from './route.ts';

const lastEventIdSchema = z.string().max(256).describe('Id of the last handled event. The stream continues behind it.');

interface RouteDescription extends Omit<ProtocolRoute, 'method' | 'status'> {
  readonly status?: ProtocolRoute['status'] | undefined;
  readonly method: ProtocolRoute['method'];
  /** Codes of all errors, in the order of the document. */
  readonly errors: readonly RouteError[];
  readonly answerError?: AnswerError | undefined;
  readonly isBodyOptional?: boolean | undefined;
}

export function describeRoutes(routes: readonly RouteDescription[], version: string, basePath: string): object {
  const paths: ZodOpenApiPathsObject = {};
  const shared: SharedErrors = new Map();
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method]: writeOperation(route, shared) };
  }
  const document = createDocument(
    {
      openapi: '3.1.1',
      info: {
        title: 'turnfold',
        version,
        description: 'Durable turns for LLM agents. Other services enqueue turns, read answers and change contexts.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: basePath === '' ? '/' : basePath }],
      // The empty requirement stands for a server without keys.
      security: [{ bearer: [] }, {}],
      components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
      paths,
    },
    { allowEmptySchema: { custom: true, transform: true } },
  );
  return addExamples(document);
}

export function describeProtocol({ routes, answerError }: MountedProtocol): RouteDescription[] {
  return routes.map((route) => ({ ...route, errors: listProtocolErrors(route), answerError }));
}

export function describeRoute(route: Route): RouteDescription {
  const { operation, method, path, scope, summary, query, body, status, answer, repeatedBy } = route;
  const { answerType = 'application/json' } = route;
  const headers = {
    ...(repeatedBy !== undefined && { [IDEMPOTENCY_HEADER]: idempotencyKeySchema.optional() }),
    ...(answerType === EVENT_STREAM && { 'last-event-id': lastEventIdSchema.optional() }),
  };
  return {
    operation,
    method,
    path,
    scopes: [scope],
    summary,
    status,
    ...(query && { query }),
    ...(body && { body, isBodyOptional: body.safeParse(undefined).success }),
    headers: z.object(headers),
    errors: listErrors(route),
    results: { [answerType]: answer },
  };
}

function writeOperation(route: RouteDescription, shared: SharedErrors): ZodOpenApiOperationObject {
  const { operation, summary, scopes, query, body, isBodyOptional = false, status = 200, results, empty } = route;
  const { path, headers = z.object({}), errors, answerError } = route;
  const content = Object.entries(results).map(([type, schema]) => [type, { schema }]);
  return {
    operationId: operation,
    summary,
    description: `Needs a key with the scope ${scopes.map((scope) => `\`${scope}\``).join(' and ')}.`,
    requestParams: {
      path: pathParameters(path),
      ...(query && { query }),
      ...(Object.keys(headers.shape).length > 0 && { header: headers }),
    },
    ...(body && {
      requestBody: { required: !isBodyOptional, content: { 'application/json': { schema: body } } },
    }),
    responses: {
      [String(status) as '200']: {
        description: 'The request succeeded.',
        content: Object.fromEntries(content) as Record<string, { schema: z.ZodType }>,
      },
      ...(empty !== undefined && { '204': { description: empty } }),
      ...describeErrors(errors, shared, answerError),
    },
  };
}

/** Every route may answer these. */
const ALWAYS: readonly RouteError[] = [
  'unauthorized',
  'forbidden',
  'headers_too_large',
  'defect',
  'corrupt_record',
  'redis_denied',
  'redis_unavailable',
  'server_stopping',
];
const OF_INPUT: readonly RouteError[] = ['invalid_input'];
const OF_BODIES: readonly RouteError[] = [
  'invalid_input',
  'request_timeout',
  'body_too_large',
  'unsupported_media_type',
];
const OF_WRITES: readonly RouteError[] = ['read_only', 'accepted_unsure', 'redis_full'];
const OF_READERS: readonly RouteError[] = ['too_many_readers'];
const OF_CONTEXTS: readonly RouteError[] = ['message_too_large', 'too_many_readers'];
const CONFLICTS = { turn: 'turn_conflict', operation: 'operation_conflict' } as const;

/** Errors of an operation: its own, which the row names, and those that follow from the rest of the row. */
function listErrors(row: Operation): RouteError[] {
  const { method, path, scope, query, body, repeatedBy, answerType, waits, holdsContext, errors = [] } = row;
  return unique([
    ...ALWAYS,
    ...(query !== undefined || path.includes('{') ? OF_INPUT : []),
    ...(body === undefined ? [] : OF_BODIES),
    ...(method === 'get' || scope === 'read' ? [] : OF_WRITES),
    ...(repeatedBy === undefined ? [] : (['key_reused', CONFLICTS[repeatedBy]] as const)),
    ...(answerType === undefined && waits !== true ? [] : OF_READERS),
    ...(holdsContext === true ? OF_CONTEXTS : []),
    ...errors,
  ]);
}

/** The same for a route of a protocol, which names the errors of the operations that it uses. */
function listProtocolErrors({ method, query, body, scopes, results, errors = [] }: ProtocolRoute): RouteError[] {
  return unique([
    ...ALWAYS,
    ...(query === undefined ? [] : OF_INPUT),
    ...(body === undefined ? [] : OF_BODIES),
    ...(method === 'get' || scopes.every((scope) => scope === 'read') ? [] : OF_WRITES),
    ...(EVENT_STREAM in results ? OF_READERS : []),
    ...errors,
  ]);
}

function unique(codes: readonly RouteError[]): RouteError[] {
  return [...new Set(codes)];
}

const retryAfterSchema = z.string().describe('Seconds after which the same request may succeed.');
const HEADERS = z.object({ 'retry-after': retryAfterSchema.optional() });

const openAiErrorSchema = z
  .looseObject({
    error: z.looseObject({
      type: z.string(),
      code: z.string().describe('Code of the problem, or the code that OpenAI has for this error.'),
      message: z.string().describe('Explanation for people.'),
      param: z.string().nullable().describe('Path of the wrong field, header or parameter.'),
    }),
  })
  .meta({ id: 'OpenAiError', description: "The error object of OpenAI's APIs, which such a problem also has." });

/** Described error answers by id: routes with the same errors share one description. */
type SharedErrors = Map<string, ZodOpenApiResponseObject>;

/** The server refuses such a request before it knows the route, so this answer never has the form of a protocol. */
const OF_NO_ROUTE: ReadonlySet<RouteError> = new Set(['headers_too_large']);

/**
 * Describes error answers by status. The function that writes an error also decides its status here, so that the
 * document cannot differ from the answers.
 */
function describeErrors(
  codes: readonly RouteError[],
  shared: SharedErrors,
  answerError: AnswerError = answerProblem,
): ZodOpenApiResponsesObject {
  const written = codes.map((code) => {
    const answer = OF_NO_ROUTE.has(code) ? answerProblem : answerError;
    return { code, isProblem: answer === answerProblem, status: answer(sampleOf(code), () => undefined).status };
  });
  const byStatus = Map.groupBy(written, ({ status }) => status);
  return Object.fromEntries(
    [...byStatus].map(([status, found]) => {
      const form = { isProblem: found.every(({ isProblem }) => isProblem), codes: found.map(({ code }) => code) };
      const id = `${form.isProblem ? '' : 'OpenAi-'}${status}-${form.codes.join('-')}`;
      const described = shared.get(id) ?? { id, ...describeStatus(status, form) };
      shared.set(id, described);
      return [String(status), described];
    }),
  );
}

const isHttpCode = (code: RouteError): code is HttpCode => Object.hasOwn(HTTP_CODES, code);

function sampleOf(code: RouteError): Error {
  return isHttpCode(code) ? new HttpProblem(code, 'sample') : new TurnfoldError(code, 'sample');
}

interface StatusForm {
  /** True: a plain problem. False: the problem also has the error object of OpenAI. */
  readonly isProblem: boolean;
  readonly codes: readonly RouteError[];
}

function describeStatus(status: number, { isProblem, codes }: StatusForm): ZodOpenApiResponseObject {
  const problem = z.intersection(problemSchema, z.looseObject({ status: z.literal(status), code: z.enum(codes) }));
  return {
    description: codes.map((one) => `\`${one}\``).join(', '),
    headers: HEADERS,
    content: { [PROBLEM_TYPE]: { schema: isProblem ? problem : z.intersection(problem, openAiErrorSchema) } },
  };
}
