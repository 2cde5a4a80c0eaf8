import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { countRequest, expectPaired } from '../compact/requests.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../..');
const LOOPS = join(ROOT, 'examples/loops');
const WINDOW = 8_000;
const STEPS = 60;
const BUFFER = 64 * 1_024 * 1_024;

const isInstalled = existsSync(join(LOOPS, 'node_modules'));

/** Output of an example: its answer, the number of messages that its own store keeps, and all requests. */
interface Report {
  readonly answer: string;
  readonly kept?: number;
  readonly requests: readonly (readonly unknown[])[];
}

/** The examples import the package by its name, which has no build here. */
const SOURCE = JSON.stringify(new URL('../../src/compact.ts', import.meta.url).href);
const HOOKS = `import { registerHooks } from 'node:module';
registerHooks({ resolve: (name, context, next) => next(name === 'turnfold/compact' ? ${SOURCE} : name, context) });`;

async function runExample(name: string): Promise<Report> {
  const hooks = `data:text/javascript,${encodeURIComponent(HOOKS)}`;
  const args = ['--import', hooks, join(LOOPS, `${name}.ts`)];
  const { stdout } = await run(process.execPath, args, { cwd: LOOPS, maxBuffer: BUFFER });
  const line = stdout.split('\n').find((printed) => printed.startsWith('{"answer"'));
  return JSON.parse(line ?? '{}') as Report;
}

describe.skipIf(!isInstalled)('loops of other packages (npm ci --prefix examples/loops)', () => {
  test('the example loops compile against the types of the installed packages', async () => {
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    await expect(run(process.execPath, [tsc, '-p', LOOPS, '--noEmit'])).resolves.toMatchObject({ stdout: '' });
  });

  test.each([
    ['openai-agents', 2 * STEPS],
    ['openai-agents-session', 2 * STEPS],
    ['langchain', 2 * STEPS],
    ['mastra', undefined],
  ])(
    'the example loop of %s stays inside the window for 60 requests, and its store keeps all messages',
    async (name, kept) => {
      const { answer, requests, kept: stored } = await runExample(name);
      expect(answer).toBe('Invoices.');
      expect(stored).toBe(kept);
      expect(requests).toHaveLength(STEPS);
      const sizes = requests.map(countRequest);
      expect(Math.max(...sizes)).toBeLessThanOrEqual(WINDOW);
      expect(Math.max(...sizes)).toBeGreaterThan(WINDOW / 2);
      for (const request of requests) expectPaired(request);
      const changes = requests.slice(1).filter((request, index) => {
        const before = requests[index] ?? [];
        return before.some((message, at) => JSON.stringify(message) !== JSON.stringify(request[at]));
      });
      expect(changes.length).toBeGreaterThan(2);
      expect(changes.length).toBeLessThan(STEPS / 4);
    },
  );
});
