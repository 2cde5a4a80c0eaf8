import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type ContextAnswer, contextSchema } from '../../src/api/contract/contexts.ts';
import {
  type BreakdownAnswer,
  breakdownSchema,
  type OutlineAnswer,
  outlineSchema,
  reportSchema,
} from '../../src/api/contract/inspection.ts';
import { type CompactionAnswer, compactionSchema } from '../../src/api/contract/versions.ts';
import { authenticateByKey } from '../../src/api/http/caller.ts';
import { createProtocols } from '../../src/api/http/protocols.ts';
import { routes } from '../../src/api/http/routes.ts';
import { createTalker, makeVersions, talk } from '../client/fixture.ts';
import { type HttpFixture, openHttpFixture, outline, send } from './fixture.ts';

let http: HttpFixture;
beforeAll(async () => {
  http = await openHttpFixture();
  await http.startWorkers([{ ...createTalker(), policy: { retentionWindow: 2, maxTokens: 2_000 } }]);
  await makeVersions(http, 'kept');
  await http.client.enqueueTurn({ conversation: 'called', agent: 'talker', input: 'call echo', turn: 't1' });
  await http.client.result('called', 't1', { waitMs: 60_000 });
});
afterAll(() => http.close());

const kept = '/v1/conversations/kept';

/** The same schema, which refuses fields that it does not name. */
function strict(schema: z.ZodType): z.ZodType {
  const closed = JSON.parse(
    JSON.stringify(z.toJSONSchema(schema)).replaceAll('"additionalProperties":{}', '"additionalProperties":false'),
  ) as Parameters<typeof z.fromJSONSchema>[0];
  return z.fromJSONSchema(closed);
}

describe('answers of the inspecting routes', () => {
  test.each([
    ['outline', `${kept}/outline?limit=2000`, outlineSchema],
    ['outline of a version', `${kept}/outline?version=1&after=3&limit=5`, outlineSchema],
    ['breakdown', `${kept}/breakdown`, breakdownSchema],
    ['breakdown of a version', `${kept}/breakdown?version=1`, breakdownSchema],
    ['breakdown after a model call', '/v1/conversations/called/breakdown', breakdownSchema],
    ['report', `${kept}/versions/1/report`, reportSchema],
    ['report with a search', `${kept}/versions/2/report?find=thought`, reportSchema],
    ['report of the whole log', `${kept}/versions/0/report`, reportSchema],
  ])('the answer of the route has exactly the fields of its schema: %s', async (_, path, schema) => {
    const { status, body } = await http.call('GET', path);
    expect(status).toBe(200);
    expect(strict(schema).safeParse(body)).toMatchObject({ success: true });
  });

  test('a dry run answers with the plan of its schema', async () => {
    const { body } = await http.call('POST', `${kept}/compact`, { body: { dryRun: true, policy: { maxTokens: 900 } } });
    expect(strict(compactionSchema).safeParse(body)).toMatchObject({ success: true });
    expect(body).toHaveProperty('plan.protected');
  });

  test('an inspecting route refuses a wrong parameter with the name of its field', async () => {
    for (const [path, field] of [
      [`${kept}/outline?limit=2001`, 'limit'],
      [`${kept}/outline?after=-1`, 'after'],
      [`${kept}/breakdown?version=x`, 'version'],
      [`${kept}/versions/1/report?find=`, 'find'],
    ] as const) {
      expect(outline(await http.call('GET', path))).toEqual({ status: 422, code: 'invalid_input', field });
    }
    const gone = await http.call('GET', `${kept}/versions/9/report`);
    expect(outline(gone)).toEqual({ status: 404, code: 'not_found', field: 'version' });
  });
});

describe('rules of a rendered context', () => {
  test.each(['anthropic', 'openai-chat', 'openai-responses'])(
    'the context of a recorded turn breaks no rule of the format %s',
    async (format) => {
      for (const conversation of ['called', 'kept']) {
        const { body } = await http.call('GET', `/v1/conversations/${conversation}/context?format=${format}`);
        expect(contextSchema.parse(body).broken).toEqual([]);
      }
    },
  );

  test('the answer with a context that a provider would refuse names the rules that the context breaks', async () => {
    const roles = ['user', 'assistant'] as const;
    const messages = Array.from({ length: 2_100 }, (_, index) => ({ role: roles[index % 2] ?? 'user', content: 'x' }));
    await http.client.append({ conversation: 'crowded', agent: 'other', messages });
    const { body } = await http.call('GET', '/v1/conversations/crowded/context?format=openai-chat');
    expect(contextSchema.parse(body).broken).toEqual([
      { rule: 'X9', why: "the request has 2100 messages, but the provider's limit is 2048" },
    ]);
  });

  test('turnfold’s own format has no rules that a context could break', async () => {
    expect((await http.call<ContextAnswer>('GET', `${kept}/context`)).body.broken).toBeUndefined();
  });
});

describe('rights', () => {
  test('a key that may only read can call every inspecting route and a dry run, and cannot compact', async () => {
    const { keys } = http.client;
    const { token } = await keys.create({ tenant: '_', scopes: ['read'] });
    const { url, stop } = await http.serve({ authenticate: authenticateByKey(keys) });
    const headers = { authorization: `Bearer ${token}` };
    for (const path of ['outline', 'breakdown', 'versions/1/report']) {
      expect((await send(`${url}${kept}/${path}`, 'GET', { headers })).status).toBe(200);
    }
    const dry = await send(`${url}${kept}/compact`, 'POST', { headers, body: { dryRun: true } });
    expect(dry.status).toBe(202);
    for (const request of [{ headers }, { headers, body: { dryRun: false } }]) {
      const refused = await send(`${url}${kept}/compact`, 'POST', request);
      expect(outline(refused)).toEqual({ status: 403, code: 'forbidden', field: 'authorization' });
    }
    await stop();
  });

  test('a server that only reads refuses every route that changes something, and names --allow-changes', async () => {
    const { client } = http;
    const protocols = createProtocols({ client, agent: 'talker' });
    const { url, stop } = await http.serve({ isReadOnly: true, protocols });
    const before = await client.describe('kept');
    const protocolRoutes = protocols.flatMap((protocol) => protocol.routes);
    const changing = [
      ...routes.filter(({ method, scope }) => method !== 'get' && scope !== 'read'),
      ...protocolRoutes.filter(({ method, scopes }) => method !== 'get' && scopes.some((scope) => scope !== 'read')),
    ];
    for (const { method, path } of changing) {
      const address = path.replace('{conversation}', 'kept').replaceAll(/\{\w+\}/g, '1');
      const refused = await send<{ detail: string }>(url + address, method.toUpperCase(), {
        ...(method === 'post' && path.endsWith('/compact') && { body: {} }),
      });
      expect(refused.status, `${method} ${path}`).toBe(403);
      expect(JSON.stringify(refused.body)).toContain('--allow-changes');
    }
    expect((await send(`${url}${kept}/compact`, 'POST', { body: { dryRun: true } })).status).toBe(202);
    expect((await send(`${url}${kept}/outline`, 'GET')).status).toBe(200);
    expect(await client.describe('kept')).toEqual(before);
    await stop();
  });
});

describe('a hostile conversation', () => {
  test('markup, direction marks and long lines are shown as text, in pages of limited size', async () => {
    const { client } = http;
    const hostile = ['<script>alert(1)</script>', '\u202Egnirts\u0000', 'x'.repeat(100_000), '<img src=x onerror=1>'];
    const contents = Array.from({ length: 24 }, (_, index) => hostile[index % hostile.length] ?? '');
    for (const content of contents) {
      await client.append({ conversation: 'hostile', agent: 'talker', messages: [{ role: 'user', content }] });
    }
    const starts: string[] = [];
    let after: number | undefined = 0;
    while (after !== undefined) {
      const page: { body: OutlineAnswer } = await http.call(
        'GET',
        `/v1/conversations/hostile/outline?limit=2000&after=${after}`,
      );
      starts.push(...page.body.entries.map(({ start }) => start));
      after = page.body.next;
    }
    expect(starts).toHaveLength(contents.length);
    expect(starts[0]).toBe('<script>alert(1)</script>');
    expect(starts.every((start) => start.length <= 160)).toBe(true);
    const { body } = await http.call<BreakdownAnswer>('GET', '/v1/conversations/hostile/breakdown?version=0');
    expect(body.categories.find(({ name }) => name === 'user')?.count).toBe(24);
    expect(JSON.stringify(body).length).toBeLessThan(20_000);
  });

  test('a dry run under another policy answers from the cached context', async () => {
    const { client } = http;
    await client.append({ conversation: 'what-if', agent: 'talker', messages: talk(30) });
    const sizes: number[] = [];
    for (const maxTokens of [3_000, 6_000, 9_000]) {
      const body = { dryRun: true, policy: { maxTokens, tokenThreshold: maxTokens } };
      const { body: answer } = await http.call<CompactionAnswer>('POST', '/v1/conversations/what-if/compact', { body });
      sizes.push(answer.plan?.tokensAfter ?? 0);
    }
    expect(sizes).toEqual(sizes.toSorted((a, b) => a - b));
    expect(new Set(sizes).size).toBe(3);
  });
});
