import { execFile } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import openapiTS, { astToString, type OpenAPI3 } from 'openapi-typescript';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createHttpApp } from '../../src/api/http/index.ts';
import { createTalker, type Fixture, openFixture } from '../client/fixture.ts';
import { serveClient } from '../client/over-http.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../..');
/** Below the project's own node_modules, so that the program finds its packages. */
const FOLDER = join(ROOT, 'node_modules/.cache/turnfold-openapi');

/** A program that knows nothing but the OpenAPI document. */
const PROGRAM = `
import createClient from 'openapi-fetch';
import type { paths } from './schema.ts';

const client = createClient<paths>({ baseUrl: process.argv[2] ?? '' });
const conversation = 'generated';
const accepted = await client.POST('/v1/conversations/{conversation}/turns', {
  params: { path: { conversation }, header: { 'idempotency-key': 'k-1' } },
  body: { agent: 'talker', input: 'hello' },
});
if (accepted.error) throw new Error(accepted.error.detail);
const turn: string = accepted.data.turn;
const result = await client.GET('/v1/conversations/{conversation}/turns/{turn}/result', {
  params: { path: { conversation, turn }, query: { waitMs: 30_000 } },
});
if (result.error) throw new Error(result.error.detail);
const state: 'scheduled' | 'queued' | 'running' | 'waiting' | 'completed' | 'failed' | 'canceled' = result.data.state;
const { data = '', response } = await client.GET('/v1/conversations/{conversation}/turns/{turn}/events', {
  params: { path: { conversation, turn } },
  parseAs: 'text',
});
type Part = paths['/v1/conversations/{conversation}/turns/{turn}/events']['get']['responses'][200]['content']['text/event-stream'];
/** Each branch reads a field that only its type of event has. */
function show(part: Part): string {
  switch (part.type) {
    case 'text':
      return part.piece;
    case 'tool-call':
      return part.name + part.arguments;
    case 'wait':
      return part.waiting.calls.map(({ name }) => name).join();
    case 'end':
      return part.view.state;
    default:
      return part.type;
  }
}
const frames = String(data).split('\\n').filter((line) => line.startsWith('data: '));
const shown = frames.map((line) => show(JSON.parse(line.slice(6)))).join(' ');
const missing = await client.GET('/v1/conversations/{conversation}', { params: { path: { conversation: 'nobody' } } });
/** The document names the codes of each status, so that a program may list them all. */
const code = missing.error?.code;
const statusOf: Partial<Record<NonNullable<typeof code>, number>> = { not_found: 404, unauthorized: 401 };
console.log(JSON.stringify({ state, content: result.data.answer?.content, code, shown, status: code && statusOf[code], type: response.headers.get('content-type') }));
`;

/** A mistake that the types of the document must find. */
const WRONG = `
import createClient from 'openapi-fetch';
import type { paths } from './schema.ts';

await createClient<paths>().POST('/v1/conversations/{conversation}/turns', {
  params: { path: { conversation: 'c' } },
  body: { agent: 'talker', text: 'hello' },
});
`;

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([createTalker()]);
  await mkdir(FOLDER, { recursive: true });
});
afterAll(async () => {
  await rm(FOLDER, { recursive: true, force: true });
  await fixture.close();
});

test('a client that openapi-typescript generates from the OpenAPI document compiles, and drives a turn', async () => {
  const { document } = createHttpApp({ client: fixture.client, authenticate: 'none' });
  const schema = astToString(await openapiTS(document as OpenAPI3));
  const compilerOptions = {
    strict: true,
    skipLibCheck: true,
    target: 'es2024',
    lib: ['es2024', 'dom'],
    module: 'nodenext',
    types: ['node'],
    rewriteRelativeImportExtensions: true,
    outDir: 'out',
  };
  const files = {
    'package.json': JSON.stringify({ type: 'module' }),
    'tsconfig.json': JSON.stringify({ compilerOptions, include: ['*.ts'] }),
    'schema.ts': schema,
    'program.ts': PROGRAM,
    'wrong.ts': WRONG,
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(FOLDER, name), text);
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  const { stdout: errors } = await run(process.execPath, [tsc, '-p', FOLDER]).catch(
    (error: { stdout: string }) => error,
  );
  const lines = errors.split('\n').filter((line) => line.includes('error TS'));
  expect(lines).toEqual([expect.stringMatching(/wrong\.ts.*'text' does not exist/)]);

  const { url, stop } = await serveClient(fixture.client);
  onTestFinished(stop);
  const { stdout } = await run(process.execPath, [join(FOLDER, 'out/program.js'), url]);
  expect(JSON.parse(stdout)).toEqual({
    state: 'completed',
    content: 'heard hello',
    code: 'not_found',
    shown: 'heard hello completed',
    status: 404,
    type: 'text/event-stream',
  });
});
