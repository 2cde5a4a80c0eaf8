import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { explainOldNode, readPackageFacts } from '../../src/host/package-facts.ts';
import { checkNode } from '../../src/store/connect-store.ts';
import { WRITTEN_FORMATS } from '../../src/wire/histories/writers/written-formats.ts';
import { runTurnfold, spawnTurnfold, writeTemporary } from '../cli/run-turnfold.ts';

it('readPackageFacts reads the version and the required Node version', () => {
  expect(readPackageFacts()).toMatchObject({
    version: expect.stringMatching(/^\d+\.\d+\.\d+/) as string,
    engines: { node: expect.stringMatching(/^>=22\./) as string },
  });
});

describe('the check of Node', () => {
  it.each(['22.22.0', '22.22.1', '22.23.0', '24.0.0', '100.0.0'])('the check of Node accepts version %s', (present) => {
    expect(explainOldNode(present, '>=22.22.0')).toBeUndefined();
  });

  it.each(['20.20.2', '22.21.9', '9.99.99'])(
    'the check of Node refuses version %s and prints the required version',
    (present) => {
      expect(explainOldNode(present, '>=22.22.0')).toContain(`needs Node >=22.22.0, but this is ${present}`);
    },
  );
});

it('clients and workers refuse the major versions of Node that package.json refuses', () => {
  const [, major = ''] = /^>=(\d+)\./.exec(readPackageFacts().engines.node) ?? [];
  checkNode(`${major}.0.0`);
  const older = `${Number(major) - 1}.9.0`;
  expect(() => checkNode(older)).toThrow(`turnfold needs Node ${major} or newer, but this is ${older}`);
});

/** Module that makes each import of a slow package fail. */
const REFUSE_PACKAGES = `import { registerHooks } from 'node:module';
registerHooks({
  resolve(name, context, next) {
    if (['zod', 'ioredis', 'bullmq', 'yaml'].includes(name)) throw new Error(name + ' was loaded');
    return next(name, context);
  },
});`;

describe('the command line', () => {
  it('turnfold --help loads no slow package', async () => {
    const hook = `data:text/javascript,${encodeURIComponent(REFUSE_PACKAGES)}`;
    const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, ['--import', hook, main, '--help']);
    expect(stdout).toContain('turnfold worker');
  });

  it('turnfold export --help lists each format that the command writes', async () => {
    const { stdout } = await runTurnfold(['export', '--help']);
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(WRITTEN_FORMATS.join(', '));
  });

  it('turnfold --version prints the version of the package', async () => {
    const { version } = readPackageFacts();
    expect(await runTurnfold(['--version'])).toMatchObject({ code: 0, stdout: `${version}\n`, stderr: '' });
  });

  it.each([
    [['wor'], /^worker\t/],
    [['worker', '--ro'], /^--roles\t/],
    [['config', 'ch'], /^check\t/],
  ])('turnfold complete completes %j', async (words, suggestion) => {
    const { code, stdout } = await spawnTurnfold(['complete', '--', ...words]);
    expect(code).toBe(0);
    expect(stdout).toMatch(suggestion);
  });

  it('turnfold complete bash prints a valid bash script', async () => {
    const { stdout } = await spawnTurnfold(['complete', 'bash']);
    const file = await writeTemporary('completion.bash', stdout);
    await expect(promisify(execFile)('bash', ['-n', file])).resolves.toMatchObject({ stderr: '' });
  });
});
