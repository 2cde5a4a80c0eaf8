import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { withPage } from '../../src/http/static-page.ts';

test('lets a browser keep files with a hash in their name, and ask for all others', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'turnfold-page-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await mkdir(join(folder, 'assets'));
  for (const file of ['index.html', 'assets/index-DrJ-jrom.js', 'assets/logo.svg', 'assets/our-landmark.svg'])
    await writeFile(join(folder, file), '');
  const answer = withPage(folder, async () => new Response('', { status: 404 }));
  const keepFor = async (path: string) =>
    (await answer(new Request(`http://127.0.0.1${path}`))).headers.get('cache-control');

  expect(await keepFor('/')).toBe('no-cache');
  expect(await keepFor('/assets/logo.svg')).toBe('no-cache');
  expect(await keepFor('/assets/our-landmark.svg')).toBe('no-cache');
  expect(await keepFor('/assets/index-DrJ-jrom.js')).toBe('public, max-age=31536000, immutable');
  expect(await keepFor('/v1/missing')).toBeNull();
});
