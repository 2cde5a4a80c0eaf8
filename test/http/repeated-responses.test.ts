import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TurnfoldClient } from '../../src/api/client/index.ts';
import type { FrontEndOptions } from '../../src/api/http/front-end/backend.ts';
import { readResponseId } from '../../src/api/http/responses/response-names.ts';
import { responsesApp } from '../../src/api/http/responses/responses-app.ts';
import { scriptedModel } from '../../src/providers/scripted.ts';
import { type Fixture, openFixture } from '../client/fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
  const createShower = (name: string) => ({
    name,
    system: (context: object): string => `${name} ${JSON.stringify(context)}`,
    model: scriptedModel({ decide: ({ system }) => ({ content: system }) }),
    tools: [],
    policy: {},
  });
  await fixture.startWorkers([createShower('guide'), createShower('second')]);
});
afterAll(() => fixture.close());

type Write = <Written>(name: string, write: () => Promise<Written>) => Promise<Written>;

/** A client whose writes run through a function. */
function withWrites(around: Write): TurnfoldClient {
  const { client } = fixture;
  return {
    ...client,
    enqueueTurn: async (input) => await around('enqueueTurn', () => client.enqueueTurn(input)),
    append: async (input) => await around('append', () => client.append(input)),
    fork: async (...given) => await around('fork', () => client.fork(...given)),
  };
}

interface Asked {
  readonly body: object;
  readonly user?: string;
  readonly retries?: number;
  readonly signal?: AbortSignal;
}

interface Answered {
  readonly status: number;
  readonly id: string;
  readonly text: string;
}

function openApp(options: Partial<FrontEndOptions>): (asked: Asked) => Promise<Answered> {
  const { client } = fixture;
  const app = responsesApp({ authenticate: 'none', clientFor: () => client, agent: 'guide', ...options });
  return async ({ body, user = 'A', retries = 0, signal }) => {
    const headers = {
      'content-type': 'application/json',
      'x-user': user,
      'x-stainless-retry-count': String(retries),
    };
    const init = { method: 'POST', headers, body: JSON.stringify(body), ...(signal && { signal }) };
    const response = await app.request('http://127.0.0.1/v1/responses', init);
    const { id = '', output } = (await response.json()) as {
      id?: string;
      output?: { content: { text: string }[] }[];
    };
    return { status: response.status, id, text: output?.at(-1)?.content[0]?.text ?? '' };
  };
}

type Deciding = (client: TurnfoldClient) => Partial<FrontEndOptions>;
const FUNCTIONS: readonly (readonly [string, string, Deciding])[] = [
  [
    'contextFor',
    'guide {"user":"B"}',
    () => ({ contextFor: ({ headers }) => ({ user: headers.get('x-user') ?? '' }) }),
  ],
  ['agent', 'second {}', () => ({ agent: ({ req }) => (req.header('x-user') === 'B' ? 'second' : 'guide') })],
  [
    'clientFor',
    'guide {}',
    (client) => {
      const other = withWrites(async (_, write) => await write());
      return { clientFor: ({ req }) => (req.header('x-user') === 'B' ? other : client) };
    },
  ],
];

test.for(FUNCTIONS)(
  'a repeated request gets no response of a person whom the function %s tells apart',
  async ([name, text, decide]) => {
    const leaving = new AbortController();
    const turns: unknown[] = [];
    const client = withWrites(async (_, write) => {
      const stored = await write().finally(() => leaving.abort());
      turns.push((stored as { turn: string }).turn);
      return stored;
    });
    const ask = openApp({ clientFor: () => client, ...decide(client) });
    const body = { input: `What does ${name} know of me?` };
    await ask({ body, signal: leaving.signal }).catch(() => undefined);
    const other = await ask({ body, user: 'B', retries: 1 });
    const own = await ask({ body, retries: 1 });
    expect(other.text).toBe(text);
    expect(readResponseId(own.id).turn, 'the first person gets the own turn').toBe(turns[0]);
    expect(readResponseId(other.id).turn).not.toBe(turns[0]);
  },
);

test('a request that is repeated while its first attempt is being stored begins one turn', async () => {
  const leaving = new AbortController();
  const isRepeated = Promise.withResolvers<void>();
  let attempts = 0;
  const client = withWrites(async (_, write) => {
    attempts += 1;
    if (attempts === 1) {
      leaving.abort();
      await isRepeated.promise;
    }
    return await write();
  });
  const ask = openApp({ clientFor: () => client });
  const body = { input: 'hello', conversation: 'slow' };
  const first = ask({ body, signal: leaving.signal }).catch(() => undefined);
  await expect.poll(() => leaving.signal.aborted).toBe(true);
  const second = ask({ body, retries: 1 });
  isRepeated.resolve();
  await first;
  expect((await second).text).toBe('guide {}');
  const log = await fixture.client.log('slow');
  expect(log.map(({ message: { role } }) => role)).toEqual(['user', 'assistant']);
});

const said = (role: string, content: string) => ({ type: 'message', role, content });
const HISTORY = { input: [said('user', 'one'), said('assistant', 'two'), said('user', 'three')] };

test.for<[string, number, (older: string) => object]>([
  ['begins a conversation', 2, () => ({ input: 'hello' })],
  ['brings its history', 4, () => HISTORY],
  ['goes on from an older response', 4, (older) => ({ input: 'other', previous_response_id: older })],
])('a request that %s begins one turn, also if a reply of the store is lost', async ([_, entries, write]) => {
  const ask = openApp({});
  const { id: older } = await ask({ body: { input: 'older' } });
  await ask({ body: { input: 'newer', previous_response_id: older } });
  for (let lost = 1; lost <= 2; lost += 1) {
    let writes = 0;
    const turns = new Set<string>();
    const client = withWrites(async (name, store) => {
      writes += 1;
      const stored = await store();
      if (name === 'enqueueTurn') turns.add((stored as { turn: string }).turn);
      if (writes === lost) throw new Error('the reply was lost');
      return stored;
    });
    const askLossy = openApp({ clientFor: () => client });
    const body = write(older);
    const first = await askLossy({ body });
    const { status, id } = first.status === 500 ? await askLossy({ body, retries: 1 }) : first;
    expect(status).toBe(200);
    expect(turns.size).toBe(1);
    expect(await fixture.client.log(readResponseId(id).conversation)).toHaveLength(entries);
  }
});
