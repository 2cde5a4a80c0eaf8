import { globSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { LONGEST } from '../../vitest.config.ts';
import { buildFixture } from './fixture.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** A file that vitest.config.ts names, so that vitest runs in a fixture. */
const setup = { 'test/setup/property-seed.ts': '' };

const passing = {
  'format:check': 'true',
  ceilings: 'true',
  imports: 'true',
  lint: 'true',
  prose: 'true',
  unused: 'true',
};

test('npm run check prints one line per gate, and the output of failed gates', async () => {
  using fixture = buildFixture();
  const scripts = { ...passing, lint: 'echo loose promise; exit 3' };
  fixture.write({ 'package.json': JSON.stringify({ type: 'module', engines: { node: '>=22.22.0' }, scripts }) });
  const { code, output } = await fixture.run('check');
  expect(code).toBe(1);
  expect(output.match(/^(pass|FAIL) {2}\S+/gm)?.toSorted()).toEqual([
    'FAIL  lint',
    'pass  ceilings',
    'pass  format:check',
    'pass  imports',
    'pass  prose',
    'pass  unused',
  ]);
  expect(output).toContain('── lint: echo loose promise; exit 3\nloose promise');
});

test('npm run check refuses a gate that package.json does not have', async () => {
  using fixture = buildFixture();
  const { unused: _, ...scripts } = passing;
  fixture.write({ 'package.json': JSON.stringify({ type: 'module', engines: { node: '>=22.22.0' }, scripts }) });
  const { code, output } = await fixture.run('check');
  expect(code).toBe(1);
  expect(output).toContain('package.json has no script "unused"');
});

test.each(['>=99.0.0', '>=24.99.0'])('npm run check stops before any gate if this Node is not %s', async (node) => {
  using fixture = buildFixture();
  fixture.write({ 'package.json': JSON.stringify({ type: 'module', engines: { node }, scripts: passing }) });
  const { code, output } = await fixture.run('check');
  expect(code).toBe(1);
  expect(output).toContain(`Node ${node} is needed, this is v`);
  expect(output).not.toContain('format:check');
});

test('the domain tests fail if their branch coverage is below 95 %', async () => {
  using fixture = buildFixture();
  fixture.write({
    ...setup,
    'test/domain/turn.test.ts': `import { expect, test } from 'vitest';
import { parseTurn } from '../../src/domain/turn.ts';

test('a turn is parsed', () => expect(parseTurn('one')).toBe('one'));
`,
  });
  const { code, output } = await fixture.run('vitest run --coverage --project domain');
  expect(output).toMatch(/1 passed/);
  expect(output).toMatch(/Coverage for branches \(50%\) does not meet global threshold \(95%\)/);
  expect(code).not.toBe(0);
});

test('every test file that vitest runs first exists', () => {
  const there = new Set(globSync('test/**/*.test.ts', { cwd: ROOT }));
  expect(LONGEST.filter((file) => !there.has(file))).toEqual([]);
});

test('vitest runs the slowest test files first, at any file size', async () => {
  using fixture = buildFixture();
  const passes = "import { test } from 'vitest';\n\ntest('passes', () => undefined);\n";
  const [longest = '', next = ''] = LONGEST.filter((file) => /^test\/(wire|tokens)\//.test(file));
  fixture.write({
    ...setup,
    [longest]: passes,
    [next]: `${passes}// larger\n`,
    'test/wire/a.test.ts': `${passes}// larger still\n`,
  });
  const { output } = await fixture.run('vitest run --project pure --maxWorkers 1');
  expect(output.match(/test\/\S+\.test\.ts/g)).toEqual([longest, next, 'test/wire/a.test.ts']);
});
