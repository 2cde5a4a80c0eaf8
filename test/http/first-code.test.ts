import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { rolldown } from 'rolldown';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { defineAgent, scriptedModel } from '../../src/index.ts';
import { type Fixture, openFixture, SHARDS } from '../client/fixture.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const run = promisify(execFile);

const ENTRANCES: Readonly<Record<string, string>> = {
  'turnfold/client': 'src/api/client/index.ts',
  'turnfold/http': 'src/api/http/index.ts',
  'turnfold/chat': 'src/chat/index.ts',
  'turnfold/chat/react': 'src/chat/react/index.ts',
};

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
  const model = scriptedModel({ decide: () => ({ content: 'on its way' }) });
  await fixture.startWorkers([defineAgent({ name: 'support', system: 'You help.', tools: [], policy: {}, model })]);
});
afterAll(() => fixture.close());

async function readBlocks(page: string, language: 'ts' | 'tsx'): Promise<string[]> {
  const text = await readFile(join(ROOT, page), 'utf8');
  return [...text.matchAll(/^```(?<language>\w+)\n(?<code>[^]*?)^```$/gm)].flatMap(({ groups }) =>
    groups?.['language'] === language ? [groups['code'] ?? ''] : [],
  );
}

/** A folder in the test's own, so that the code finds installed packages. */
async function openFolder(): Promise<string> {
  const folder = await mkdtemp(join(ROOT, 'test', '.first-code-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Writes code as a file that imports the sources of the package, and uses the database of this test. */
async function writeProgram(code: string): Promise<string> {
  const file = join(await openFolder(), 'program.ts');
  const linked = code.replaceAll(
    /from '(turnfold\/[\w/-]+)'/g,
    (_, name: string) => `from '${join(ROOT, ENTRANCES[name] ?? '')}'`,
  );
  const here = `redisUrl: '${fixture.url}', shards: ${SHARDS}`;
  await writeFile(file, linked.replaceAll("redisUrl: 'redis://127.0.0.1:6379'", here));
  return file;
}

async function findPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((listening) => server.once('listening', listening));
  const { port } = server.address() as { port: number };
  await new Promise((closed) => server.close(closed));
  return port;
}

test('the first code of the reference of the client runs without a change', async () => {
  const [code = ''] = await readBlocks('docs/reference/client.md', 'ts');
  await run(process.execPath, [await writeProgram(code)]);
  expect(await fixture.client.result('c-17', 't-1')).toMatchObject({ state: 'completed' });
});

test('the first code of the guide to chat pages serves a chat to a caller with a key', async () => {
  const [code = ''] = await readBlocks('docs/how-to/connect-a-chat.md', 'ts');
  const port = await findPort();
  const ended = new AbortController();
  const serving = run(process.execPath, [await writeProgram(code.replace('port: 3000', `port: ${port}`))], {
    signal: ended.signal,
  });
  onTestFinished(async () => {
    ended.abort();
    await serving.catch(() => undefined);
  });
  const url = `http://127.0.0.1:${port}/v1/chat/first/messages`;
  // A program that ends reports its error.
  const failures: unknown[] = [];
  serving.catch((error: unknown) => failures.push(error));
  const ask = async (headers: Record<string, string> = {}): Promise<unknown> =>
    failures[0] ?? (await fetch(url, { headers }).catch(() => undefined))?.status;
  await expect.poll(() => ask()).toBe(401);
  const { token } = await fixture.client.keys.create({ tenant: 'default', name: 'page', scopes: ['read'] });
  expect(await ask({ authorization: `Bearer ${token}` })).toBe(200);
});

test.for([
  ['docs/reference/chat-react.md', 0],
  ['docs/how-to/connect-a-chat.md', 0],
  ['docs/how-to/connect-a-chat.md', 1],
] as const)('the component in %s, number %i, renders without a change', async ([page, at]) => {
  const code = (await readBlocks(page, 'tsx'))[at] ?? '';
  const folder = await openFolder();
  const start = `
    import { createElement } from 'react';
    import { renderToString } from 'react-dom/server';
    import { Chat } from './chat.tsx';
    console.log(renderToString(createElement(Chat, { id: 'c1', messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'hi' }] }] })));`;
  await writeFile(join(folder, 'chat.tsx'), code);
  await writeFile(join(folder, 'start.ts'), start);
  const alias = Object.fromEntries(
    Object.entries(ENTRANCES)
      .toReversed()
      .map(([name, file]) => [name, join(ROOT, file)]),
  );
  const bundle = await rolldown({
    input: join(folder, 'start.ts'),
    platform: 'node',
    logLevel: 'silent',
    resolve: { alias },
  });
  await bundle.write({ file: join(folder, 'start.mjs'), format: 'esm', codeSplitting: false });
  await bundle.close();
  const { stdout } = await run(process.execPath, [join(folder, 'start.mjs')]);
  expect(stdout).toMatch(at === 1 ? /<p>hi<\/p>/ : /<main>.*Ask.*<\/main>/s);
});
