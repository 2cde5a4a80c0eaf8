import { execFile } from 'node:child_process';
import { copyFile, cp, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Below the checkout's own node_modules, so that the dependencies are found as npm installs them: beside the package. */
const PROJECT = join(ROOT, 'node_modules/.cache/turnfold-project');
const PACKAGE = join(PROJECT, 'node_modules/turnfold');
const BUILD_MS = 900_000;

beforeAll(async () => {
  await rm(PACKAGE, { recursive: true, force: true });
  await mkdir(PACKAGE, { recursive: true });
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  await run(process.execPath, [tsc, '-p', 'tsconfig.build.json', '--outDir', join(PACKAGE, 'dist')], { cwd: ROOT });
  const vite = join(ROOT, 'node_modules/vite/bin/vite.js');
  await run(process.execPath, [vite, 'build', 'inspector', '--outDir', join(PACKAGE, 'dist/inspector')], { cwd: ROOT });
  await cp(join(ROOT, 'src/store/lua'), join(PACKAGE, 'dist/store/lua'), { recursive: true });
  await copyFile(join(ROOT, 'package.json'), join(PACKAGE, 'package.json'));
}, BUILD_MS);

afterAll(() => rm(PACKAGE, { recursive: true, force: true }));

function runInstalled(...args: string[]): Promise<{ stdout: string; stderr: string }> {
  const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], TURNFOLD_METRICS_PORT: '0' };
  return run(process.execPath, [join(PACKAGE, 'dist/cli/main.js'), ...args], { cwd: PROJECT, env });
}

it('an installed turnfold runs the demo about its own built code', async () => {
  const { stdout, stderr } = await runInstalled('demo', '--json');
  const summary = JSON.parse(stdout) as Record<string, number>;
  expect(summary).toMatchObject({ turns: 42, overLimit: 0 });
  expect(summary['summarized']).toBeGreaterThanOrEqual(8);
  expect(stderr).not.toContain('Error');
});

it('an installed turnfold has the page of the inspector', async () => {
  const script = `const { findInspectorPage } = await import(${JSON.stringify(join(PACKAGE, 'dist/cli/commands/inspect.js'))}); console.log(findInspectorPage());`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script], { cwd: PROJECT });
  expect(stdout.trim()).toBe(join(PACKAGE, 'dist/inspector'));
});

it.each([
  ['turnfold/client', 'openClient'],
  ['turnfold/http-client', 'openHttpClient'],
  ['turnfold/testing', 'openTestWorkers'],
  ['turnfold/ai-sdk', 'aiSdkModel'],
  ['turnfold/mcp', 'openMcpTools'],
  ['turnfold/compact', 'compactMessages'],
  ['turnfold/chat', 'createDurableTransport'],
  ['turnfold/chat/react', 'useDurableChat'],
])('the installed package can be imported as %s', async (name, exported) => {
  const script = `const { ${exported} } = await import('${name}'); console.log(typeof ${exported});`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script], { cwd: PROJECT });
  expect(stdout.trim()).toBe('function');
});

it('the installed turnfold/compact loads no package but zod and js-tiktoken, also while it compacts', async () => {
  const script = `import { registerHooks } from 'node:module';
    const loaded = new Set();
    registerHooks({ load: (url, context, next) => (loaded.add(url), next(url, context)) });
    const { compactMessages } = await import('turnfold/compact');
    const messages = Array.from({ length: 20 }, (_, nth) => [
      { role: 'user', content: 'Question ' + nth },
      { role: 'assistant', content: 'word '.repeat(400) },
    ]).flat();
    const { report } = await compactMessages({ messages, window: 4_000 });
    const packages = [...loaded].map((url) => /.*node_modules\\/(@[^/]+\\/[^/]+|[^/]+)/.exec(url)?.[1] ?? url);
    console.log(JSON.stringify({ kind: report.kind, packages: [...new Set(packages)].toSorted() }));`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script], { cwd: PROJECT });
  expect(JSON.parse(stdout)).toMatchObject({ kind: expect.stringMatching(/summarize|evict|trim/) as string });
  expect(
    (JSON.parse(stdout) as { packages: string[] }).packages.filter((name) => !name.startsWith('node:')),
  ).toStrictEqual(['js-tiktoken', 'turnfold', 'zod']);
});
