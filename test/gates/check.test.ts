import { expect, test } from 'vitest';
import { buildFixture } from './fixture.ts';

/** A file that vitest.config.ts names, so that vitest runs in a fixture. */
const setup = { 'test/setup/property-seed.ts': '' };

const passing = {
  'format:check': 'true',
  ceilings: 'true',
  imports: 'true',
  lint: 'true',
  prose: 'true',
  structure: 'true',
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
    'pass  structure',
    'pass  unused',
  ]);
  expect(output).toContain('── lint: echo loose promise; exit 3\nloose promise');
});

test('npm run check refuses the name of a gate (check) that package.json does not have', async () => {
  using fixture = buildFixture();
  const { unused: _, ...scripts } = passing;
  fixture.write({ 'package.json': JSON.stringify({ type: 'module', engines: { node: '>=22.22.0' }, scripts }) });
  const { code, output } = await fixture.run('check');
  expect(code).toBe(1);
  expect(output).toContain('package.json has no script "unused"');
});

test.each(['>=99.0.0', '>=24.99.0'])(
  'npm run check stops before any gate if the running Node is not %s',
  async (node) => {
    using fixture = buildFixture();
    fixture.write({ 'package.json': JSON.stringify({ type: 'module', engines: { node }, scripts: passing }) });
    const { code, output } = await fixture.run('check');
    expect(code).toBe(1);
    expect(output).toContain(`Node ${node} is needed, this is v`);
    expect(output).not.toContain('format:check');
  },
);

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

test('the structure gate lists names that two files of src export, once their number exceeds the limit', async () => {
  using fixture = buildFixture();
  const names = ['one', 'two', 'three'];
  const text = names.map((name) => `export const ${name} = 1;\n`).join('');
  fixture.write({ 'src/a.ts': text, 'src/b.ts': text });
  const { code, output } = await fixture.run('structure');
  expect(code, output).toBe(1);
  for (const name of names) expect(output).toContain(`${name}: src/a.ts, src/b.ts`);
});

test('the structure gate counts a file that only one file imports, unless a test imports it or it has siblings', async () => {
  using fixture = buildFixture();
  const commands = ['a', 'b', 'c'];
  fixture.write({
    'src/once.ts': 'export const once = 1;\n',
    'src/tested.ts': 'export const tested = 1;\n',
    ...Object.fromEntries(commands.map((name) => [`src/commands/${name}.ts`, `export const ${name} = 1;\n`])),
    'src/main.ts': ['./once.ts', './tested.ts', ...commands.map((name) => `./commands/${name}.ts`)]
      .map((path) => `import '${path}';\n`)
      .join(''),
    'test/tested.test.ts': "import '../src/tested.ts';\n",
  });
  const { code, output } = await fixture.run('structure');
  expect(code, output).toBe(0);
  // Four of them are of the fixture itself.
  expect(output).toContain('11 files of src, 5 files with one importer');
});
