import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { withPage } from '../../src/api/http/static-page.ts';

test('a browser may cache page files with a hash in their name, and must ask again for all others', async () => {
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

test('a page can be served under a path, beside the routes and another page at the root', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'turnfold-page-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'index.html'), 'the page');
  const answer = withPage(folder, async ({ url }) => new Response(new URL(url).pathname), '/inspect');
  const get = (path: string) => answer(new Request(`http://127.0.0.1${path}`));

  const redirect = await get('/inspect');
  expect(redirect.status).toBe(302);
  expect(new URL(redirect.headers.get('location') ?? '', 'http://127.0.0.1/inspect').pathname).toBe('/inspect/');
  const page = await get('/inspect/');
  expect(await page.text()).toBe('the page');
  expect(page.headers.get('content-security-policy')).toContain("default-src 'self'");
  for (const path of ['/', '/v1/conversations', '/inspect/missing.js', '/inspector']) {
    expect(await (await get(path)).text()).toBe(path);
  }
});
