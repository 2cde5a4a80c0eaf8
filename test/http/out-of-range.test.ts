import { afterAll, beforeAll, expect, test } from 'vitest';
import { aiSdkRoutes } from '../../src/api/http/ai-sdk/routes.ts';
import { createProtocols } from '../../src/api/http/protocols.ts';
import { responsesRoutes } from '../../src/api/http/responses/routes.ts';
import { routes } from '../../src/api/http/routes.ts';
import { compact, talk } from '../client/fixture.ts';
import { type HttpFixture, openHttpFixture, outline } from './fixture.ts';

let http: HttpFixture;
let url: string;
beforeAll(async () => {
  http = await openHttpFixture();
  const protocols = createProtocols({ client: http.client, agent: 'talker' });
  ({ url } = await http.serve({ protocols }));
  await http.startWorkers();
  await http.client.append({ conversation: 'c', agent: 'talker', messages: talk(12) });
  await http.client.enqueueTurn({ conversation: 'c', agent: 'talker', turn: 't', input: 'hello' });
  await http.client.result('c', 't', { waitMs: 30_000 });
  await compact(http, 'c');
});
afterAll(() => http.close());

/** Values at and beyond the limits of positions, counts, times and texts. */
const EXTREMES = [
  '-1',
  '0.5',
  '1000000001',
  '4294967296',
  '9007199254740993',
  '18446744073709551616-0',
  '1e400',
  'NaN',
  '',
  '%00',
  'é',
];

/** Parameters without which a route would refuse the request before it reads the one that is tested. */
const NEEDED: Readonly<Record<string, string>> = { before: '0', after: '0' };

interface Read {
  readonly operation: string;
  readonly path: string;
  readonly parameter: string;
}

const PATHS: Readonly<Record<string, string>> = {
  conversation: 'c',
  turn: 't',
  proposal: 'p',
  version: '1',
  response: 'resp_c~t',
};
const fill = (path: string, values = PATHS): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '');

const reads = [...routes, ...aiSdkRoutes, ...responsesRoutes].filter(({ method }) => method === 'get');

function listReads(): Read[] {
  return reads.flatMap(({ operation, path, query }) => {
    const names = Object.keys(query?.shape ?? {}).filter((name) => name !== 'waitMs');
    const needed = operation === 'diff' ? NEEDED : {};
    const inQuery = names.map((parameter) => {
      const others = Object.entries(needed).filter(([name]) => name !== parameter);
      return {
        operation,
        parameter,
        path: `${fill(path)}?${others.map(([name, value]) => `${name}=${value}&`).join('')}${parameter}=`,
      };
    });
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter = '']) => ({
      operation,
      parameter,
      path: fill(path, { ...PATHS, [parameter]: '\0' }),
    }));
    return [...inQuery, ...inPath];
  });
}

test.for(listReads())(
  '$operation answers no out-of-range value of $parameter with 500',
  async ({ operation, path, parameter }) => {
    for (const value of EXTREMES) {
      const isStream = /\/(?:events|stream)/.test(path);
      const asked = path.includes('\0') ? path.replace('\0', value) : path + value;
      const wait = isStream && !path.includes('/v1/chat') ? `${asked.includes('?') ? '&' : '?'}waitMs=0` : '';
      const response = await fetch(`${url}${asked}${wait}`);
      // A chat is followed without end, so only its first news are read.
      const body = operation === 'followChat' && response.ok ? await readFirst(response) : await response.text();
      expect([parameter, value, response.status, body.slice(0, 300)]).toEqual([
        parameter,
        value,
        expect.toSatisfy(isFine),
        expect.anything(),
      ]);
    }
  },
);

async function readFirst({ body }: Response): Promise<string> {
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  const first = await reader?.read();
  await reader?.cancel();
  return first?.value ?? '';
}

const isFine = (status: number): boolean => status < 500 || status === 501;

test.for(['1000000000', '1000000001', '9007199254740991'])(
  'a request for version %s, which never existed, is answered with not_found',
  async (version) => {
    for (const path of [
      `context?version=${version}`,
      `versions/${version}`,
      `versions/${version}/report`,
      `outline?version=${version}`,
      `breakdown?version=${version}`,
      `diff?before=0&after=${version}`,
    ]) {
      expect([path, outline(await http.call('GET', `/v1/conversations/c/${path}`))]).toMatchObject([
        path,
        { status: 404, code: 'not_found' },
      ]);
    }
  },
);

test('a restore of an out-of-range version is never answered with 500', async () => {
  for (const version of EXTREMES) {
    const response = await http.call('POST', `/v1/conversations/c/versions/${version}/restore`, { body: {} });
    expect([version, response.status]).toEqual([version, expect.toSatisfy(isFine)]);
  }
});
