import { expect, test } from 'vitest';
import { buildHouse } from './house.ts';

const passing = {
  'format:check': 'true',
  ceilings: 'true',
  imports: 'true',
  lint: 'true',
  types: 'true',
  unused: 'true',
};

test('check says one line per gate, and shows the output of those that failed', async () => {
  using house = buildHouse();
  const scripts = { ...passing, lint: 'echo loose promise; exit 3' };
  house.write({ 'package.json': JSON.stringify({ type: 'module', engines: { node: '>=22.22.0' }, scripts }) });
  const { code, output } = await house.run('check');
  expect(code).toBe(1);
  expect(output.match(/^(pass|FAIL) {2}\S+/gm)).toEqual([
    'pass  format:check',
    'pass  ceilings',
    'pass  imports',
    'FAIL  lint',
    'pass  types',
    'pass  unused',
  ]);
  expect(output).toContain('── lint: echo loose promise; exit 3\nloose promise');
});

test('check refuses a gate that package.json does not know', async () => {
  using house = buildHouse();
  const { unused: _, ...scripts } = passing;
  house.write({ 'package.json': JSON.stringify({ type: 'module', engines: { node: '>=22.22.0' }, scripts }) });
  const { code, output } = await house.run('check');
  expect(code).toBe(1);
  expect(output).toContain('package.json has no script "unused"');
});

test.each(['>=99.0.0', '>=24.99.0'])('check says first that this Node is not %s', async (node) => {
  using house = buildHouse();
  house.write({ 'package.json': JSON.stringify({ type: 'module', engines: { node }, scripts: passing }) });
  const { code, output } = await house.run('check');
  expect(code).toBe(1);
  expect(output).toContain(`Node ${node} is needed, this is v`);
  expect(output).not.toContain('format:check');
});

test('coverage of the domain below its floor fails the tests', async () => {
  using house = buildHouse();
  house.write({
    'test/domain/turn.test.ts': `import { expect, test } from 'vitest';
import { parseTurn } from '../../src/domain/turn.ts';

test('a turn is parsed', () => expect(parseTurn('one')).toBe('one'));
`,
  });
  const { code, output } = await house.run('vitest run --coverage --project unit');
  expect(output).toMatch(/1 passed/);
  expect(output).toMatch(/Coverage for branches \(50%\) does not meet global threshold \(95%\)/);
  expect(code).not.toBe(0);
});
