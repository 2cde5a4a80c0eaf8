import { z } from 'zod';
import { createDocument, type ZodOpenApiOperationObject, type ZodOpenApiPathsObject } from 'zod-openapi';
import { pathParameters, type RouteError } from '../contract/operation.ts';
import type { AnswerError, MountedProtocol, ProtocolRoute } from './app-options.ts';
import { EVENT_STREAM } from './event-stream.ts';
import { addExamples } from './examples.ts';
import { IDEMPOTENCY_HEADER, idempotencyKeySchema } from './idempotency-key.ts';
import type { Route } from './route.ts';
import { describeErrors, listErrors, listProtocolErrors, type SharedErrors } from './route-errors.ts';

const lastEventIdSchema = z.string().max(256).describe('Id of the last handled event. The stream continues behind it.');

interface RouteDescription extends Omit<ProtocolRoute, 'method' | 'status'> {
  readonly status?: ProtocolRoute['status'] | undefined;
  readonly method: ProtocolRoute['method'] | Route['method'];
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
