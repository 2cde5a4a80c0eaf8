import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { buildFixture } from './fixture.ts';

const buildConfig = fileURLToPath(new URL('../../tsconfig.build.json', import.meta.url));
const pageConfig = fileURLToPath(new URL('../../inspector/vite.config.ts', import.meta.url));

test('npm run build leaves only the outputs of the present sources, and removes those of earlier builds', async () => {
  using fixture = buildFixture();
  fixture.write({
    'tsconfig.build.json': readFileSync(buildConfig, 'utf8'),
    'inspector/vite.config.ts': readFileSync(pageConfig, 'utf8'),
    'inspector/index.html': '<!doctype html><title>page</title>',
    'dist/cli/gone.js': '',
  });
  expect(await fixture.run('build')).toEqual({ code: 0, output: '' });
  const { output } = await fixture.run('find dist -name "*.js" -o -name "*.lua" -o -name "*.html" | sort');
  expect(output.trim().split('\n')).toEqual([
    'dist/cli/main.js',
    'dist/domain/errors.js',
    'dist/domain/turn.js',
    'dist/host/config.js',
    'dist/host/local-redis/find.js',
    'dist/inspector/index.html',
    'dist/store/lua/read-time.lua',
  ]);
});
