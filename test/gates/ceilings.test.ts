import { expect, test } from 'vitest';
import { buildFixture } from './fixture.ts';

const lines = (count: number, line: string): string => `${line}\n`.repeat(count);
// Written in pieces, so that this file does not contain what the gate forbids.
const slash = '/';
const todo = ['TO', 'DO'].join('');
const suppression = ['oxlint', 'disable-next-line'].join('-');

const violations: ReadonlyArray<{ path: string; text: string; says: string }> = [
  { path: 'src/domain/long.ts', text: lines(301, 'export {};'), says: ':301 file of 301 lines' },
  {
    path: 'src/domain/deep.ts',
    text: `\nexport function act(): void {\n${lines(59, '  act();')}}\n`,
    says: ':2 function of 61 lines',
  },
  {
    path: 'src/domain/arrow.ts',
    text: `export const act = () => {\n${lines(59, '  act();')}};\n`,
    says: ':1 function of 61 lines',
  },
  {
    path: 'src/domain/wide.ts',
    text: `export type Act = (a: 1, b: 2, c: 3, d: 4, e: 5) => void;\n`,
    says: ':1 5 parameters',
  },
  { path: 'test/wide.ts', text: `export function act(a: 1, b: 2, c: 3, d: 4, e: 5) {}\n`, says: ':1 5 parameters' },
  { path: 'src/domain/camelCase.ts', text: 'export {};\n', says: ':1 name "camelCase" is not kebab-case' },
  { path: 'src/store/lua/readAll.lua', text: 'return 1\n', says: ':1 name "readAll" is not kebab-case' },
  { path: 'src/domain/string-utils.ts', text: 'export {};\n', says: ':1 name "utils" says nothing' },
  { path: 'src/helpers/one.ts', text: 'export {};\n', says: ':1 name "helpers" says nothing' },
  {
    path: 'src/domain/lease.ts',
    text: '\nexport class LeaseManager {}\n',
    says: ':2 name "LeaseManager": "manager" says nothing',
  },
  { path: 'src/store/lua/long.lua', text: lines(61, 'x = 1'), says: ':1 script of 61 lines of code' },
  { path: 'src/domain/later.ts', text: `// ${todo}: later\n`, says: `:1 mark ${todo}` },
  { path: 'src/store/lua/later.lua', text: `\n-- ${todo}\n`, says: `:2 mark ${todo}` },
  { path: 'docs/setup.md', text: `# Set-up\ncd ${slash}root/fixture\n`, says: `:2 path ${slash}root/fixture` },
  {
    path: 'src/domain/quiet.ts',
    text: `// ${suppression} no-console\n`,
    says: ':1 suppression without " -- reason"',
  },
];

test('the ceilings gate (size limits of files and functions) names file, line and reason of each violation', async () => {
  using fixture = buildFixture();
  fixture.write(Object.fromEntries(violations.map(({ path, text }) => [path, text])));
  const { code, output } = await fixture.run('ceilings');
  expect(code).toBe(1);
  expect(violations.filter(({ path, says }) => !output.includes(`${path}${says}`))).toEqual([]);
  expect(output).toContain(` ${violations.length} violations`);
});

test('the ceilings gate accepts files exactly at their size limits, a long test, comments of a script and the .git file of a worktree', async () => {
  using fixture = buildFixture();
  fixture.write({
    'src/domain/long.ts': lines(300, 'export {};'),
    'src/domain/deep.ts': `export function act(a: 1, b: 2, c: 3, d: 4): void {\n${lines(58, '  act(a, b, c, d);')}}\n`,
    'src/store/lua/long.lua': `--[[\n${lines(20, 'a word')}]]\n${lines(30, '-- a word\n')}${lines(60, 'x = 1')}`,
    'test/long.test.ts': `export const act = () => {\n${lines(400, '  act();')}};\n`,
    'src/domain/url.ts': `export const url = 'http://127.0.0.1/root/work/tmp';\n`,
    // In a worktree, .git is a file with a path of this machine.
    '.git': `gitdir: ${slash}root/fixture/.git/worktrees/one\n`,
  });
  const { code, output } = await fixture.run('ceilings');
  expect(code, output).toBe(0);
});

test('the ceilings gate fails if it finds nothing to check', async () => {
  using fixture = buildFixture();
  const { code, output } = await fixture.run('mkdir -p empty && cd empty && node scripts/check-ceilings.ts');
  expect(code).toBe(1);
  expect(output).toContain('nothing-checked: no Lua scripts found');
  expect(output).toContain('nothing-checked: no functions found');
});
