import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, test } from 'vitest';
import type { TurnfoldClient } from '../../src/client/index.ts';
import { createHttpApp } from '../../src/http/index.ts';
import { routes } from '../../src/http/routes.ts';

test('the OpenAPI document is valid 3.1 and names each operation once', async () => {
  // The document needs no client.
  const app = createHttpApp({ client: {} as TurnfoldClient });
  const response = await app.fetch(new Request('http://127.0.0.1/v1/openapi.json'));
  const document = (await response.json()) as { openapi: string };
  expect(document).toEqual(structuredClone(app.document));
  expect(document.openapi).toMatch(/^3\.1\./);
  expect(await new Validator().validate(document)).toMatchObject({ valid: true });
  const names = routes.map(({ operation }) => operation);
  expect(new Set(names).size).toBe(names.length);
});
