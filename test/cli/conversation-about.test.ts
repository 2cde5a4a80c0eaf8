import { expect, test } from 'vitest';
import { scriptedModel } from '../../src/providers/scripted.ts';
import { useOwnWorkers } from './own-workers.ts';
import { readJsonLines } from './run-turnfold.ts';

const model = scriptedModel({ decide: () => ({ content: 'heard' }) });
const own = useOwnWorkers({ name: 'talker', system: '', tools: [], policy: {}, model });
const { turnfold } = own;

async function begin(conversation: string, ...options: string[]): Promise<void> {
  expect(await turnfold('enqueue', conversation, 'hello', '--agent', 'talker', ...options)).toMatchObject({ code: 0 });
}

test('turnfold update changes owner, title and metadata, and an empty text removes a value', async () => {
  await begin('u1', '--owner', 'ann', '--title', 'First');
  const changed = await turnfold('update', 'u1', '--title', 'Second', '--metadata', '{"team":"red"}');
  expect(changed).toMatchObject({ code: 0, stderr: '' });
  expect(changed.stdout).toMatch(/^u1\n {2}title +Second\n {2}metadata +\{"team":"red"\}\n$/);
  expect(await own.client.describe('u1')).toMatchObject({ owner: 'ann', title: 'Second', metadata: { team: 'red' } });
  expect((await turnfold('update', 'u1', '--title', '', '--metadata', '', '--owner', 'bob')).stdout).toContain('none');
  const [bare] = readJsonLines((await turnfold('update', 'u1', '--owner', '', '--json')).stdout);
  expect(bare).toMatchObject({ conversation: 'u1', agent: 'talker' });
  for (const field of ['owner', 'title', 'metadata']) expect(bare).not.toHaveProperty(field);
});

test.each([
  ['--title', ['update', 'u1', '--title', 'two\nlines']],
  ['--metadata', ['update', 'u1', '--metadata', '{"a":1}']],
  ['--expires', ['token', 'u1', '--expires', '2d']],
  ['--scopes', ['token', 'u1', '--scopes', 'admin']],
  ['--owner', ['token', 'u1', '--owner', '']],
  ['--grace', ['rotate-token-secret', '--grace', 'soon']],
  ['--metadata', ['conversations', '--metadata', 'red']],
])('a wrong %s is refused by its name: turnfold %j', async (option, args) => {
  const run = await turnfold(...args);
  expect(run).toMatchObject({ code: 1, stdout: '' });
  expect(run.stderr).toContain(`invalid_input: ${option}`);
});

test('turnfold update without an option, or of an unknown conversation, changes nothing and says why', async () => {
  expect((await turnfold('update', 'u1')).stderr).toContain('expected owner, title or metadata');
  expect((await turnfold('update', 'nowhere', '--title', 'x')).stderr).toMatch(/^turnfold: not_found: conversation/);
});

test('turnfold token prints the token alone, and rotate-token-secret ends it', async () => {
  const created = await turnfold('token', 't1', '--scopes', 'answer, read', '--expires', '2h', '--owner', 'ann');
  expect(created).toMatchObject({ code: 0 });
  const token = created.stdout.trim();
  expect(token).toMatch(/^tfc_[\w-]+\.[\w-]{43}$/);
  expect(created.stderr).toMatch(/^token of t1: read, answer, expires 20/);
  const authenticate = (given: string) => own.client.keys.authenticate(given);
  expect(await authenticate(token)).toMatchObject({ conversation: 't1', owner: 'ann', scopes: ['read', 'answer'] });
  const [other] = readJsonLines((await turnfold('token', 't1', '--tenant', 'shop', '--json')).stdout);
  expect(other).toMatchObject({ tenant: 'shop', conversation: 't1', scopes: ['read', 'enqueue', 'answer'] });
  const kept = await turnfold('rotate-token-secret', '--grace', '1h');
  expect(kept).toMatchObject({ code: 0, stdout: '_  earlier tokens are accepted for 1h\n' });
  expect(await authenticate(token)).toMatchObject({ status: 'granted' });
  await turnfold('rotate-token-secret', '--grace', '0s');
  await expect.poll(() => authenticate(token), { timeout: 10_000 }).toMatchObject({ status: 'refused' });
  expect(await authenticate(String(other?.['token']))).toMatchObject({ status: 'granted', tenant: 'shop' });
});

test('turnfold conversations lists only those whose metadata have the value', async () => {
  for (const id of ['m1', 'm2', 'm3']) await begin(id, '--owner', 'cat');
  await turnfold('update', 'm1', '--metadata', '{"team":"red"}');
  await turnfold('update', 'm2', '--metadata', '{"team":"redder","sum":"1=1"}');
  const list = async (...options: string[]) =>
    readJsonLines((await turnfold('conversations', '--json', ...options)).stdout).map((row) => row['conversation']);
  expect(await list('--metadata', 'team=red')).toEqual(['m1']);
  expect(await list('--metadata', 'sum=1=1', '--owner', 'cat')).toEqual(['m2']);
  expect(await list('--metadata', 'team=')).toEqual([]);
});
