import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TurnfoldClient } from '../../src/api/client/index.ts';
import { authenticateByKey } from '../../src/api/http/caller.ts';
import type { HttpAppOptions } from '../../src/api/http/index.ts';
import { describeProtocol, describeRoute } from '../../src/api/http/openapi.ts';
import { createProtocols } from '../../src/api/http/protocols.ts';
import { routes } from '../../src/api/http/routes.ts';
import { type HttpFixture, openHttpFixture, send } from './fixture.ts';
import { accessRefusals } from './refusals/access-refusals.ts';
import { agUiRefusals } from './refusals/ag-ui-refusals.ts';
import { chatRefusals } from './refusals/chat-refusals.ts';
import { commonRefusals, type DescribedOperation } from './refusals/common-refusals.ts';
import { conversationRefusals } from './refusals/conversation-refusals.ts';
import { openAiRefusals } from './refusals/openai-refusals.ts';
import {
  joinRefusals,
  type Refusal,
  type Refusals,
  SERVER_LIMITS,
  type SeenRefusal,
  type ServerName,
  sendRequest,
  writeRequest,
} from './refusals/refusal.ts';
import { turnRefusals } from './refusals/turn-refusals.ts';
import { versionRefusals } from './refusals/version-refusals.ts';
import { prepareWorld, type World } from './refusals/world.ts';

/*
 * The table of refusals. For every operation of the OpenAPI document, it has a request for each code of status 4xx that
 * the document lists. `Refusal` in `refusals/refusal.ts` says how to add a row.
 */

const AGENT = 'support';
const protocolsOf = (client: TurnfoldClient) => createProtocols({ client, agent: AGENT });
const operations: readonly DescribedOperation[] = [
  ...routes.map(describeRoute),
  ...protocolsOf({} as TurnfoldClient).flatMap(describeProtocol),
].map(({ operation, method, path, scopes, body }) => ({
  operation,
  method,
  path,
  scopes,
  hasBody: body !== undefined,
}));

let http: HttpFixture;
let world: World;
let table: Refusals;
let listed: ReadonlyMap<string, readonly string[]>;
const servers = new Map<ServerName, string>();
beforeAll(async () => {
  http = await openHttpFixture();
  const { client } = http;
  world = await prepareWorld(http);
  const protocols = protocolsOf(client);
  // A request that is not refused does not wait for its turn.
  const serve = async (options: Partial<HttpAppOptions>) =>
    (await http.serve({ protocols, ...options, limits: { maxWaitMs: 1, ...options.limits } })).url;
  for (const [name, limits] of Object.entries(SERVER_LIMITS)) servers.set(name as ServerName, await serve({ limits }));
  servers.set('keyed', await serve({ authenticate: authenticateByKey(client.keys) }));
  servers.set('read_only', await serve({ isReadOnly: true }));
  const { body: document } = await send<Document>(`${servers.get('plain')}/v1/openapi.json`, 'GET');
  listed = listAnswers(document);
  const common = operations.map((one) => [one.operation, commonRefusals(one, world.tokens)] as const);
  table = joinRefusals(
    Object.fromEntries(common),
    turnRefusals(world),
    conversationRefusals,
    versionRefusals(world),
    accessRefusals(world),
    chatRefusals(world),
    agUiRefusals,
    openAiRefusals,
  );
});
afterAll(async () => {
  await world?.close();
  await http?.close();
});

interface ErrorAnswer {
  readonly content: Readonly<Record<string, { readonly schema: CodeSchema }>>;
}

interface CodeSchema {
  readonly $ref?: string;
  readonly allOf?: readonly CodeSchema[];
  readonly properties?: { readonly code?: { readonly enum?: readonly string[] } };
}

interface Described {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, { readonly $ref?: string } & Partial<ErrorAnswer>>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: { readonly responses: Readonly<Record<string, ErrorAnswer>> };
}

function nameAnswer(status: number | string, code: string, hasError: boolean): string {
  return `${status} ${code}${hasError ? ', with the error object of OpenAI' : ''}`;
}

/** Lists the answers of status 4xx that the served document names for each operation. */
function listAnswers({ paths, components }: Document): ReadonlyMap<string, readonly string[]> {
  const described = Object.values(paths).flatMap((methods) => Object.values(methods));
  return new Map(
    described.map(({ operationId, responses }) => {
      const codes = Object.entries(responses).flatMap(([status, { $ref, ...own }]) => {
        if (!status.startsWith('4')) return [];
        const answer = $ref === undefined ? own : components.responses[$ref.split('/').at(-1) ?? ''];
        const schemas = Object.values(answer?.content ?? {}).map(({ schema }) => schema);
        const hasError = schemas.some(refersToError);
        return schemas.flatMap(codesOf).map((code) => nameAnswer(status, code, hasError));
      });
      return [operationId, codes];
    }),
  );
}

function codesOf({ allOf = [], properties }: CodeSchema): readonly string[] {
  return [...(properties?.code?.enum ?? []), ...allOf.flatMap(codesOf)];
}

function refersToError({ $ref = '', allOf = [] }: CodeSchema): boolean {
  return $ref.endsWith('/OpenAiError') || allOf.some(refersToError);
}

async function provoke(described: DescribedOperation, row: Refusal): Promise<SeenRefusal> {
  const { server = 'plain', after, form } = row;
  if (after !== undefined) {
    const before = await sendRequest(servers.get('plain') ?? '', writeRequest(described, after));
    expect(before.status, `${described.operation}: the request before ${JSON.stringify(before)}`).toBeLessThan(300);
  }
  return await sendRequest(servers.get(server) ?? '', writeRequest(described, row), form);
}

test.for(operations)(
  '$operation refuses each wrong request of its rows with the code, the field and the sentence',
  async (one) => {
    const rows = table[one.operation] ?? [];
    const seen: SeenRefusal[] = [];
    for (const row of rows) seen.push(await provoke(one, row));
    const expected = rows.map(({ code, field, says }) => ({
      code,
      field,
      says: says instanceof RegExp ? expect.stringMatching(says) : says,
    }));
    expect(seen.map(({ code, field, says }) => ({ code, field, says }))).toEqual(expected);
    const answers = new Set(
      seen.map(({ status, code, error }) => nameAnswer(status, String(code), error !== undefined)),
    );
    expect([...answers].toSorted(), 'the answers to the rows, and those of the document').toEqual(
      listed.get(one.operation)?.toSorted(),
    );
  },
);
