import { expect, test } from 'vitest';
import { scriptedModel } from '../../src/providers/scripted.ts';
import { useOwnWorkers } from './own-workers.ts';
import { readJsonLines } from './run-turnfold.ts';

const model = scriptedModel({ decide: () => ({ content: 'heard' }) });
const own = useOwnWorkers({ name: 'talker', system: '', tools: [], policy: {}, model });
const { turnfold } = own;

test('turnfold keys create prints the token once, and the listed key has no secret', async () => {
  const created = await turnfold('keys', 'create', '--tenant', 'shop', '--scopes', 'read, enqueue', '--expires', '90d');
  expect(created).toMatchObject({ code: 0 });
  const token = created.stdout.trim();
  expect(token).toMatch(/^tfk_[0-9a-f]{16}_[\w-]{43}$/);
  expect(created.stderr).toMatch(/^key [0-9a-f]{16} of tenant shop: read, enqueue, expires 20/);
  expect(created.stderr).not.toContain(token.slice(-43));
  expect(await own.client.keys.authenticate(token)).toMatchObject({ tenant: 'shop', scopes: ['read', 'enqueue'] });
  const listed = await turnfold('keys', 'list', '--tenant', 'shop');
  expect(listed.stdout).toContain('read,enqueue  active');
  expect(listed.stdout).not.toContain(token.slice(-43));
  expect(await turnfold('keys', 'list', '--tenant', 'nobody')).toMatchObject({
    stdout: '',
    stderr: 'no access keys\n',
  });
});

test('turnfold keys rotate prints a new token, and keys revoke ends all tokens of the key', async () => {
  const created = await turnfold('keys', 'create', '--scopes', 'admin', '--name', 'ops', '--json');
  const { id, token: first } = JSON.parse(created.stdout) as { id: string; token: string };
  const rotated = await turnfold('keys', 'rotate', id, '--grace', '1h');
  const second = rotated.stdout.trim();
  for (const token of [first, second]) {
    expect(await own.client.keys.authenticate(token)).toMatchObject({ status: 'granted', key: id, tenant: '_' });
  }
  expect((await turnfold('keys', 'revoke', id)).stdout).toMatch(/ {2}revoked\./);
  const [listed] = readJsonLines((await turnfold('keys', 'list', '--tenant', '_', '--json')).stdout);
  expect(listed).toMatchObject({ id, name: 'ops', state: 'revoked' });
  const again = await turnfold('keys', 'rotate', id);
  expect(again.stderr).toMatch(/^turnfold: conflict: key: .* is revoked/);
});

test.each([
  ['--scopes', ['create', '--scopes', 'write']],
  ['--expires', ['create', '--scopes', 'read', '--expires', 'soon']],
  ['--tenant', ['create', '--scopes', 'read', '--tenant', 'a b']],
  ['key', ['revoke', 'x']],
])('turnfold keys refuses a wrong %s', async (name, args) => {
  const run = await turnfold('keys', ...args);
  expect(run).toMatchObject({ code: 1, stdout: '' });
  expect(run.stderr).toContain(`invalid_input: ${name}`);
});
