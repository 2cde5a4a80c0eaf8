import { z } from 'zod';
import { createDocument, type ZodOpenApiOperationObject, type ZodOpenApiPathsObject } from 'zod-openapi';
import { pathParameters, problemSchema } from '../contract/operation.ts';
import type { ProtocolRoute } from './app-options.ts';
import { EVENT_STREAM } from './event-stream.ts';
import { IDEMPOTENCY_HEADER, idempotencyKeySchema } from './idempotency-key.ts';
import { PROBLEM_TYPE } from './problem.ts';
import type { Route } from './route.ts';

const lastEventIdSchema = z.string().max(256).describe('Id of the last handled event. The stream continues behind it.');

const retryAfterSchema = z.string().describe('Seconds after which the same request may succeed.');

interface RouteDescription extends Omit<ProtocolRoute, 'method'> {
  readonly method: ProtocolRoute['method'] | Route['method'];
  readonly isBodyOptional?: boolean | undefined;
  readonly status?: number | undefined;
}

export function describeRoutes(routes: readonly RouteDescription[], version: string, basePath: string): object {
  const paths: ZodOpenApiPathsObject = {};
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method]: writeOperation(route) };
  }
  return createDocument(
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
    results: { [answerType]: answer },
  };
}

function writeOperation(route: RouteDescription): ZodOpenApiOperationObject {
  const { operation, summary, scopes, query, body, isBodyOptional = false, status = 200, results, empty } = route;
  const { path, headers = z.object({}) } = route;
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
      default: {
        description: 'The request failed.',
        headers: z.object({ 'retry-after': retryAfterSchema.optional() }),
        content: { [PROBLEM_TYPE]: { schema: problemSchema } },
      },
    },
  };
}
