import { beforeAll, expect, test } from 'vitest';
import { buildFixture, type Verdict } from './fixture.ts';

const inWorkers = (rule: string, text: string) => ({ path: `src/workers/${rule}.ts`, says: rule, text });

/** One breach per rule that this project relies on. The types behind the promises come from another file. */
const breaches: ReadonlyArray<{ readonly path: string; readonly says: string; readonly text: string }> = [
  inWorkers('no-floating-promises', `import { load } from './load.ts';\nexport function start(): void {\n  load();\n}`),
  inWorkers(
    'no-misused-promises',
    `import { load } from './load.ts';\nexport const visit = (all: number[]): void => all.forEach(async () => void (await load()));`,
  ),
  inWorkers('await-thenable', `export async function pause(): Promise<number> {\n  return await 3;\n}`),
  inWorkers(
    'switch-exhaustiveness-check',
    `export function name(state: 'a' | 'b'): string {\n  switch (state) {\n    case 'a':\n      return 'A';\n  }\n  return '';\n}`,
  ),
  inWorkers('no-unused-vars', `const forgotten = 1;\nexport {};`),
  inWorkers('no-explicit-any', `export type Anything = any;`),
  inWorkers('no-unsafe-assignment', `export const parsed: string = JSON.parse('1');`),
  inWorkers('no-default-export', `export default 1;`),
  inWorkers('no-console', `export const say = (): void => console.log('said');`),
  inWorkers('no-restricted-properties', `export const say = (): boolean => process.stdout.write('said');`),
  inWorkers('no-process-env', `export const url = process.env['REDIS_URL'];`),
  inWorkers('no-restricted-imports', `import { env } from 'node:process';\nexport const url = env['REDIS_URL'];`),
  inWorkers('consistent-type-imports', `import { Loaded } from './load.ts';\nexport const loaded: Loaded = 1;`),
  // Commands write to their `Output` object only.
  { path: 'src/cli/one.ts', says: 'no-console', text: `export const say = (): void => console.log('said');` },
  {
    path: 'src/cli/two.ts',
    says: 'no-restricted-properties',
    text: `const { stderr } = process;\nexport const say = (): boolean => stderr.write('said');`,
  },
  {
    path: 'src/cli/demo/three.ts',
    says: 'no-restricted-properties',
    text: `export const say = (): boolean => process.stdout.write('said');`,
  },
  {
    path: 'test/focused.test.ts',
    says: 'no-focused-tests',
    text: `import { expect, test } from 'vitest';\n\ntest.only('one', () => expect(1).toBe(1));`,
  },
  {
    path: 'test/disabled.test.ts',
    says: 'no-disabled-tests',
    text: `import { expect, test } from 'vitest';\n\ntest.skip('two', () => expect(2).toBe(2));`,
  },
  {
    path: 'src/domain/calm.ts',
    says: '[Uu]nused .*disable',
    text: `// oxlint-disable-next-line no-console -- nothing is said here\nexport const calm = 1;`,
  },
  {
    path: 'src/domain/loose.ts',
    says: 'TS2322',
    text: `export function first(list: string[]): string {\n  return list[0];\n}`,
  },
  { path: 'src/domain/state.ts', says: 'TS1294', text: `export enum State {\n  open,\n}` },
  { path: 'test/loose.test.ts', says: 'TS2322', text: `export const size: number = 'one';` },
];

/** One run for all breaches: a run takes two seconds of CPU time, whatever it reads. */
let verdict: Verdict;
beforeAll(async () => {
  using fixture = buildFixture();
  fixture.write({
    'src/workers/load.ts': `export type Loaded = number;\nexport async function load(): Promise<Loaded> {\n  return 1;\n}\n`,
    ...Object.fromEntries(breaches.map(({ path, text }): [string, string] => [path, `${text}\n`])),
  });
  verdict = await fixture.run('oxlint --format=unix');
});

test('the lint gate fails for a project that breaks its rules', () => {
  expect(verdict.code).not.toBe(0);
});

test.each(breaches)('the lint gate reports $says in $path', ({ path, says }) => {
  const lines = verdict.output.split('\n').filter((line) => line.startsWith(`${path}:`));
  expect(lines).toContainEqual(expect.stringMatching(new RegExp(says)));
});
