import { expect, test } from 'vitest';
import { buildFixture } from './fixture.ts';

/** One violation per rule that the fixture relies on. The types behind the promises come from another file. */
const violations: Readonly<Record<string, string>> = {
  'no-floating-promises': `import { load } from './load.ts';\nexport function start(): void {\n  load();\n}`,
  'no-misused-promises': `import { load } from './load.ts';\nexport const visit = (all: number[]): void => all.forEach(async () => void (await load()));`,
  'await-thenable': `export async function pause(): Promise<number> {\n  return await 3;\n}`,
  'switch-exhaustiveness-check': `export function name(state: 'a' | 'b'): string {\n  switch (state) {\n    case 'a':\n      return 'A';\n  }\n  return '';\n}`,
  'no-unused-vars': `const forgotten = 1;\nexport {};`,
  'no-explicit-any': `export type Anything = any;`,
  'no-unsafe-assignment': `export const parsed: string = JSON.parse('1');`,
  'no-default-export': `export default 1;`,
  'no-console': `export const say = (): void => console.log('said');`,
  'no-restricted-properties': `export const say = (): boolean => process.stdout.write('said');`,
  'no-process-env': `export const url = process.env['REDIS_URL'];`,
  'no-restricted-imports': `import { env } from 'node:process';\nexport const url = env['REDIS_URL'];`,
  'consistent-type-imports': `import { Loaded } from './load.ts';\nexport const loaded: Loaded = 1;`,
};

test('the lint gate names each rule that a file breaks', async () => {
  using fixture = buildFixture();
  const files = Object.entries(violations).map(([rule, text]) => [`src/workers/${rule}.ts`, `${text}\n`]);
  fixture.write({
    'src/workers/load.ts': `export type Loaded = number;\nexport async function load(): Promise<Loaded> {\n  return 1;\n}\n`,
    ...(Object.fromEntries(files) as Record<string, string>),
  });
  const { code, output } = await fixture.run('oxlint --format=unix');
  expect(code).not.toBe(0);
  for (const rule of Object.keys(violations)) {
    expect(output).toMatch(new RegExp(`src/workers/${rule}\\.ts:\\d+:\\d+: .*\\b${rule}\\b`));
  }
});

test('the lint gate reports focused and disabled tests', async () => {
  using fixture = buildFixture();
  fixture.write({
    'test/one.test.ts': `import { expect, test } from 'vitest';\n\ntest.only('one', () => expect(1).toBe(1));\ntest.skip('two', () => expect(2).toBe(2));\n`,
  });
  const { code, output } = await fixture.run('lint');
  expect(code).not.toBe(0);
  expect(output).toContain('no-focused-tests');
  expect(output).toContain('no-disabled-tests');
});

test('the lint gate reports a command that writes to standard output without its `Output` object', async () => {
  using fixture = buildFixture();
  fixture.write({
    'src/cli/one.ts': `export const say = (): void => console.log('said');\n`,
    'src/cli/two.ts': `const { stderr } = process;\nexport const say = (): boolean => stderr.write('said');\n`,
    'src/cli/demo/three.ts': `export const say = (): boolean => process.stdout.write('said');\n`,
  });
  const { code, output } = await fixture.run('oxlint --format=unix');
  expect(code).not.toBe(0);
  for (const [file, rule] of [
    ['cli/one', 'no-console'],
    ['cli/two', 'no-restricted-properties'],
    ['cli/demo/three', 'no-restricted-properties'],
  ]) {
    expect(output).toMatch(new RegExp(`src/${file}\\.ts:\\d+:\\d+: .*\\b${rule}\\b`));
  }
});

test('the lint gate reports an unused suppression', async () => {
  using fixture = buildFixture();
  fixture.write({
    'src/domain/calm.ts': `// oxlint-disable-next-line no-console -- nothing is said here\nexport const calm = 1;\n`,
  });
  const { code, output } = await fixture.run('lint');
  expect(code).not.toBe(0);
  expect(output).toMatch(/[Uu]nused .*disable/);
});
