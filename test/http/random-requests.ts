import { expect } from 'vitest';
import { z } from 'zod';
import type { TurnfoldClient } from '../../src/api/client/index.ts';
import type { HttpAppOptions } from '../../src/api/http/index.ts';
import { describeProtocol, describeRoute } from '../../src/api/http/openapi.ts';
import { HTTP_CODES, PROBLEM_TYPE, type Problem } from '../../src/api/http/problem.ts';
import { createProtocols } from '../../src/api/http/protocols.ts';
import { routes } from '../../src/api/http/routes.ts';
import { isErrorCode } from '../../src/domain/errors.ts';
import type { RandomRequest } from './arbitrary-requests.ts';

/**
 * Every protocol of front-ends, for a server of the tests. Requests that wait for a turn get its state soon. A client
 * that leaves changes nothing.
 */
export function withProtocols(client: TurnfoldClient): Pick<HttpAppOptions, 'protocols' | 'limits'> {
  const mounted = createProtocols({ client, agent: 'talker', onAbort: 'continue' });
  return { protocols: mounted, limits: { maxWaitMs: 5 } };
}

const protocols = createProtocols({ client: {} as TurnfoldClient, agent: 'talker' });
const protocolRoutes = protocols.flatMap((own) => own.routes);

/** Codes that the document names for an operation. */
const documented = new Map<string, readonly string[]>(
  [...routes.map(describeRoute), ...protocols.flatMap(describeProtocol)].map((one) => [one.operation, one.errors]),
);

/** Schemas of a success by operation and media type. The empty media type stands for a success without a body. */
const results = new Map<string, Readonly<Record<string, z.ZodType>>>([
  ...routes.map((route) => [route.operation, describeRoute(route).results] as const),
  ...protocolRoutes.map(({ operation, results: own, empty }) => {
    return [operation, { ...own, ...(empty !== undefined && { '': z.undefined() }) }] as const;
  }),
]);

/** Sends a request and checks its answer: no 5xx, a problem for each refusal, a body by its schema for each success. */
export async function sendRandom(baseUrl: string, request: RandomRequest): Promise<number> {
  const { operation, method, path, headers, body } = request;
  const leaving = new AbortController();
  const response = await fetch(baseUrl + path, {
    method,
    headers,
    signal: leaving.signal,
    ...(body !== undefined && body !== '' && { body }),
  });
  const { status } = response;
  const type = response.headers.get('content-type') ?? '';
  const shown = `${method} ${path} ${body?.slice(0, 500)}`;
  expect(status, shown).toBeLessThan(500);
  if (status >= 400) {
    expect(type, shown).toBe(PROBLEM_TYPE);
    const problem = (await response.json()) as Problem;
    expect(problem, shown).toMatchObject({ status, title: expect.any(String), detail: expect.any(String) });
    expect(isErrorCode(problem.code) || Object.hasOwn(HTTP_CODES, problem.code), shown).toBe(true);
    // An empty parameter makes another path.
    const isOther = problem.code === 'no_route' || problem.code === 'method_not_allowed';
    if (!isOther) expect(documented.get(operation), `${operation} ${shown}`).toContain(problem.code);
    if (status === 429) expect(response.headers.get('retry-after'), shown).toMatch(/^\d+$/);
    return status;
  }
  const [resultType = ''] = type.split(';');
  expect(Object.keys(results.get(operation) ?? {}), shown).toContain(resultType);
  if (resultType === 'application/json') {
    const answered = results.get(operation)?.[resultType]?.safeParse(await response.json());
    expect(answered?.error, shown).toBeUndefined();
  }
  leaving.abort();
  return status;
}

/** State of the conversations that requests may change. */
export async function readState(client: TurnfoldClient): Promise<unknown> {
  const { conversations } = await client.conversations({ limit: 1_000 });
  return await Promise.all(
    conversations.map(async ({ conversation }) => [
      await client.describe(conversation),
      (await client.openTurns(conversation)).turns,
      await client.versions(conversation),
    ]),
  );
}
