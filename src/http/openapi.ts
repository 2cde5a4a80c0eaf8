import { z } from 'zod';
import { createDocument, type ZodOpenApiOperationObject, type ZodOpenApiPathsObject } from 'zod-openapi';
import { IDEMPOTENCY_HEADER, idempotencyKeySchema } from './idempotency-key.ts';
import { PROBLEM_TYPE } from './problem.ts';
import { pathParameters, type Route } from './route.ts';

const problemSchema = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.number().int(),
    code: z.string().describe('Error code for programs, as in docs/reference/errors.md and docs/reference/http.md.'),
    detail: z.string().describe('Explanation for people.'),
    field: z.string().optional().describe('Path of the wrong field, header or parameter.'),
    details: z.record(z.string(), z.unknown()).optional().describe('Figures and ids that explain the error.'),
  })
  .meta({ id: 'Problem' });

const lastEventIdSchema = z.string().max(256).describe('Id of the last handled event. The stream continues behind it.');

const retryAfterSchema = z.string().describe('Seconds after which the same request may succeed.');

export interface DocumentOptions {
  /** Version of turnfold. */
  readonly version: string;
  /** Path under which the routes are mounted. */
  readonly basePath: string;
}

/** Makes the OpenAPI 3.1 document of the routes. It describes each request by the schema that validates it. */
export function describeRoutes(routes: readonly Route[], { version, basePath }: DocumentOptions): object {
  const paths: ZodOpenApiPathsObject = {};
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method]: describeRoute(route) };
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
    // A list with a limit is checked by a function before its members. Its members still describe it.
    { allowEmptySchema: { custom: true, transform: true } },
  );
}

function describeRoute(route: Route): ZodOpenApiOperationObject {
  const { operation, summary, scope, query, body, isBodyOptional = false, status = 200, result } = route;
  const { resultType = 'application/json' } = route;
  const headers = {
    ...(route.hasKey && { [IDEMPOTENCY_HEADER]: idempotencyKeySchema.optional() }),
    ...(resultType === 'text/event-stream' && { 'last-event-id': lastEventIdSchema.optional() }),
  };
  return {
    operationId: operation,
    summary,
    description: `Needs a key with the scope \`${scope}\`.`,
    requestParams: {
      path: pathParameters(route.path),
      ...(query && { query }),
      ...(Object.keys(headers).length > 0 && { header: z.object(headers) }),
    },
    ...(body && {
      requestBody: { required: !isBodyOptional, content: { 'application/json': { schema: body } } },
    }),
    responses: {
      [String(status) as '200']: {
        description: 'The request succeeded.',
        content: { [resultType]: { schema: result } },
      },
      default: {
        description: 'The request failed.',
        headers: z.object({ 'retry-after': retryAfterSchema.optional() }),
        content: { [PROBLEM_TYPE]: { schema: problemSchema } },
      },
    },
  };
}
