import { expect, test } from 'vitest';
import { owners, rooms } from '../../scripts/rooms.ts';
import { buildFixture } from './fixture.ts';

test('no two top-level folders (rooms) of src may import each other', () => {
  const mutual = Object.entries(rooms).flatMap(([room, allowed]) =>
    allowed.filter((other) => rooms[other]?.includes(room)).map((other) => `${room} ⇄ ${other}`),
  );
  const unknown = Object.values(rooms).flatMap((allowed) => allowed.filter((room) => rooms[room] === undefined));
  expect(mutual).toEqual([]);
  expect(unknown).toEqual([]);
});

test('the imports gate names exactly the imports that the table of rooms (folders of src) forbids', async () => {
  using fixture = buildFixture();
  const names = Object.keys(rooms);
  const pairs = names.flatMap((from) => names.filter((to) => to !== from).map((to) => ({ from, to })));
  const forbidden = pairs.filter(({ from, to }) => !rooms[from]?.includes(to));
  const entries = names.map((room) => [`src/${room}/entry.ts`, `export const room = '${room}';\n`]);
  const importers = pairs.map(({ from, to }) => [
    `src/${from}/to-${to}.ts`,
    `import { room } from '../${to}/entry.ts';\n\nexport const other = room;\n`,
  ]);
  fixture.write(Object.fromEntries([...entries, ...importers]) as Record<string, string>);

  const { code, output } = await fixture.run('imports');
  expect(code).toBe(1);
  const missed = forbidden.filter(
    ({ from, to }) => !output.includes(`src/${from}/to-${to}.ts → src/${to}/entry.ts: ${from}-direction`),
  );
  expect(missed).toEqual([]);
  expect(output.match(/: [\w-]+-direction /g)).toHaveLength(forbidden.length);
});

test('the imports gate lets only the rooms (folders of src) that own an npm package import it', async () => {
  using fixture = buildFixture();
  const installed = Object.entries(owners).filter(
    ([name]) => !['openai', '@anthropic-ai', '@ai-sdk', '@modelcontextprotocol', '@bull-board'].includes(name),
  );
  const importers = installed.flatMap(([name, allowed]) =>
    allowed.map((room) => [
      `src/${room}/with-${name}.ts`,
      `import * as own from '${name}';\n\nexport const used = own;\n`,
    ]),
  );
  fixture.write(Object.fromEntries(importers) as Record<string, string>);
  const { code, output } = await fixture.run('imports');
  expect(code, output).toBe(0);
});

const breaches: ReadonlyArray<{ rule: string; path: string; text: string }> = [
  {
    rule: 'domain-direction',
    path: 'src/domain/typed.ts',
    text: `import type { Key } from '../store/key.ts';\nexport type Own = Key;`,
  },
  {
    rule: 'domain-direction',
    path: 'src/domain/lazy.ts',
    text: `export const lazy = () => import('../store/key.ts');`,
  },
  { rule: 'domain-direction', path: 'src/domain/passed-on.ts', text: `export * from '../store/key.ts';` },
  {
    rule: 'types-of-store',
    path: 'src/workers/code.ts',
    text: `import { key } from '../store/key.ts';\nexport const own = key;`,
  },
  {
    rule: 'types-of-store',
    path: 'src/telemetry/lazy.ts',
    text: `export const lazy = () => import('../store/key.ts');`,
  },
  { rule: 'types-of-store', path: 'src/evaluation/passed-on.ts', text: `export * from '../store/key.ts';` },
  {
    rule: 'redis-behind-store',
    path: 'src/workers/connected.ts',
    text: `import type { Tls } from '../store/redis/tls.ts';\nexport type Own = Tls;`,
  },
  {
    rule: 'queue-behind-ports',
    path: 'src/workers/wake.ts',
    text: `import { queue } from '../jobs/bullmq/queue.ts';\nexport const own = queue;`,
  },
  {
    rule: 'queue-connections',
    path: 'src/jobs/accept.ts',
    text: `import type { Key } from '../store/key.ts';\nexport type Own = Key;`,
  },
  {
    rule: 'bullmq-owner',
    path: 'src/workers/queue.ts',
    text: `import { Queue } from 'bullmq';\nexport const made = Queue;`,
  },
  {
    rule: 'bullmq-owner',
    path: 'src/store/typed.ts',
    text: `import type { Job } from 'bullmq';\nexport type Own = Job;`,
  },
  {
    rule: 'ioredis-owner',
    path: 'src/workers/redis.ts',
    text: `import { Redis } from 'ioredis';\nexport const made = Redis;`,
  },
  {
    rule: 'openai-owner',
    path: 'src/workers/openai.ts',
    text: `import OpenAI from 'openai';\nexport const made = OpenAI;`,
  },
  {
    rule: '@anthropic-ai-owner',
    path: 'src/wire/sdk.ts',
    text: `import type { A } from '@anthropic-ai/sdk';\nexport type Own = A;`,
  },
  {
    rule: '@ai-sdk-owner',
    path: 'src/providers/chat.ts',
    text: `import type { A } from '@ai-sdk/provider';\nexport type Own = A;`,
  },
  {
    rule: '@modelcontextprotocol-owner',
    path: 'src/host/tools.ts',
    text: `import { Client } from '@modelcontextprotocol/client';\nexport const made = Client;`,
  },
  {
    rule: 'optional-packages',
    path: 'src/providers/list.ts',
    text: `import { model } from './ai-sdk/model.ts';\nexport const own = model;`,
  },
  {
    rule: 'prom-client-owner',
    path: 'src/host/gauge.ts',
    text: `import { Gauge } from 'prom-client';\nexport const made = Gauge;`,
  },
  { rule: 'pino-owner', path: 'src/cli/log.ts', text: `import { pino } from 'pino';\nexport const made = pino;` },
  {
    rule: 'pure',
    path: 'src/domain/file.ts',
    text: `import { readFileSync } from 'node:fs';\nexport const read = readFileSync;`,
  },
  {
    rule: 'pure',
    path: 'src/compaction/file.ts',
    text: `import { readFileSync } from 'node:fs';\nexport const read = readFileSync;`,
  },
  { rule: 'pure', path: 'src/domain/id.ts', text: `import { parse } from 'yaml';\nexport const made = parse;` },
  {
    rule: 'src-alone',
    path: 'src/cli/tested.ts',
    text: `import { one } from '../../test/one.ts';\nexport const own = one;`,
  },
  {
    rule: 'no-cycles',
    path: 'src/jobs/left.ts',
    text: `import type { Right } from './right.ts';\nexport type Left = Right | 1;`,
  },
  {
    rule: 'resolvable',
    path: 'src/jobs/lost.ts',
    text: `import { lost } from './nowhere.ts';\nexport const own = lost;`,
  },
  { rule: 'no-room', path: 'src/attic/box.ts', text: `export const box = 1;` },
];

test('the imports gate names forbidden packages, built-ins, cycles and unknown rooms in every form of import', async () => {
  using fixture = buildFixture();
  fixture.write({
    'src/store/key.ts': `export type Key = string;\n\nexport const key: Key = '';\n`,
    'src/store/redis/tls.ts': `export type Tls = string;\n`,
    'src/workers/allowed.ts': `import type { Key } from '../store/key.ts';\n\nexport type Own = Key;\n`,
    'src/jobs/bullmq/queue.ts': `export const queue = 1;\n`,
    'src/jobs/right.ts': `import type { Left } from './left.ts';\n\nexport type Right = Left | 2;\n`,
    'src/providers/ai-sdk/model.ts': `export const model = 1;\n`,
    'test/one.ts': `export const one = 1;\n`,
    ...(Object.fromEntries(breaches.map(({ path, text }) => [path, `${text}\n`])) as Record<string, string>),
  });
  const { code, output } = await fixture.run('imports');
  expect(code).toBe(1);
  const lines = output.split('\n');
  const missed = breaches.filter(
    ({ rule, path }) => !lines.some((line) => line.startsWith(path) && line.includes(`: ${rule} `)),
  );
  expect(missed, output).toEqual([]);
  expect(output).not.toContain('src/workers/allowed.ts');
});

test('the imports gate lets the inspector import only types and the request layer of the server', async () => {
  using fixture = buildFixture();
  fixture.write({
    'src/api/contract/shop.ts': `export const shop = 1;\nexport type Shop = typeof shop;\n`,
    'src/api/http/app.ts': `export type App = 1;\n`,
    'src/api/http-client/event-frames.ts': `export const readFrames = 1;\n`,
    'inspector/src/right.tsx': `import type { Shop } from '../../src/api/contract/shop.ts';
import { readFrames } from '../../src/api/http-client/event-frames.ts';

export const right: Shop = readFrames;
`,
    'inspector/src/code.tsx': `import { shop } from '../../src/api/contract/shop.ts';\n\nexport const code = shop;\n`,
    'inspector/src/room.ts': `import type { App } from '../../src/api/http/app.ts';\n\nexport type Room = App;\n`,
    'inspector/src/built-in.ts': `import { join } from 'node:path';\n\nexport const path = join;\n`,
    'inspector/src/left.ts': `import { other } from './other.ts';\n\nexport const left = (): unknown => other;\n`,
    'inspector/src/other.ts': `import { left } from './left.ts';\n\nexport const other = left;\n`,
  });
  const { output } = await fixture.run('imports');
  for (const [file, rule] of [
    ['code.tsx', 'types'],
    ['room.ts', 'direction'],
    ['built-in.ts', 'packages'],
    ['left.ts', 'cycles'],
  ]) {
    expect(output).toMatch(new RegExp(`inspector/src/${file} → .*: inspector-${rule} `));
  }
  expect(output).not.toContain('right.tsx');
  expect(output).toMatch(/imports: (\d+) modules of \1 files/);
});

/** dependency-cruiser checks the compiler's version first. With an unknown version it reads nothing and succeeds. */
const unknownCompiler = `import { registerHooks } from 'node:module';

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'typescript/package.json'
      ? next(new URL('./unknown-compiler.json', import.meta.url).href, context)
      : next(specifier, context),
});
`;

test('the imports gate fails if dependency-cruiser reads no module', async () => {
  using fixture = buildFixture();
  fixture.write({ 'unknown-compiler.mjs': unknownCompiler, 'unknown-compiler.json': '{ "version": "7.0.2" }\n' });
  const { code, output } = await fixture.run('imports', { NODE_OPTIONS: '--import ./unknown-compiler.mjs' });
  expect(output).toContain('src/domain/turn.ts: unread');
  expect(output).toContain('imports: 0 modules of 5 files');
  expect(code).toBe(1);
});
