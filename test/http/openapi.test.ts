import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, test } from 'vitest';
import type { TurnfoldClient } from '../../src/api/client/index.ts';
import { createHttpApp, createProtocols } from '../../src/api/http/index.ts';
import { routes } from '../../src/api/http/routes.ts';
import type { OpenApi } from './arbitrary-requests.ts';

test('the OpenAPI document is valid 3.1 and names each operation once', async () => {
  // The document needs no client.
  const client = {} as TurnfoldClient;
  const app = createHttpApp({ client, authenticate: 'none', protocols: createProtocols({ client, agent: 'a' }) });
  const response = await app.fetch(new Request('http://127.0.0.1/v1/openapi.json'));
  const document = (await response.json()) as OpenApi & { openapi: string } & Record<string, unknown>;
  expect(document).toEqual(structuredClone(app.document));
  expect(document.openapi).toMatch(/^3\.1\./);
  expect(await new Validator().validate(document)).toMatchObject({ valid: true });
  const names = Object.values(document.paths).flatMap((methods) =>
    Object.values(methods).map((own) => own.operationId),
  );
  expect(names).toEqual(expect.arrayContaining([...routes.map(({ operation }) => operation), 'chat', 'runAgent']));
  expect(new Set(names).size).toBe(names.length);
});
