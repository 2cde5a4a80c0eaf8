import { expect, test } from 'vitest';
import { listPatchedFiles, listValues, readArguments } from '../../../src/compaction/evidence/call-values.ts';

const valuesOf = (given: unknown): [string, string][] =>
  listValues(readArguments({ arguments: JSON.stringify(given) })).map(({ key, text }) => [key, text]);

test.each<[string, unknown, [string, string][]]>([
  ['a shell with its script', { command: ['bash', '-lc', 'make test | tail'] }, [['command', 'make test | tail']]],
  ['a shell by its path', { command: ['/bin/zsh', '-c', 'ls'] }, [['command', 'ls']]],
  ['PowerShell', { command: ['pwsh.exe', '-Command', 'dir'] }, [['command', 'dir']]],
  ['a program with words', { argv: ['git', 'commit', '-m', 'a b'] }, [['argv', "git commit -m 'a b'"]]],
  ['words with an apostrophe', { cmd: ['echo', "it's"] }, [['cmd', `echo "it's"`]]],
  ['a word with lines', { cmd: ['sh', 'a\nb'] }, [['cmd', 'sh a\nb']]],
  [
    'a list that is no command',
    { files: ['a', 'b'] },
    [
      ['files', 'a'],
      ['files', 'b'],
    ],
  ],
  ['an empty command', { command: [] }, []],
  [
    'nested values',
    { a: { b: [1, { c: true }] }, d: null },
    [
      ['b', '1'],
      ['c', 'true'],
    ],
  ],
])('listValues reads the argument values of %s', (_, given, values) => {
  expect(valuesOf(given)).toEqual(values);
});

test('listValues returns arguments that are not JSON as one value, and stops at its limit', () => {
  expect(listValues(readArguments({ arguments: '{"a": ' }))).toEqual([{ key: '', text: '{"a": ' }]);
  expect(listValues({ a: [1, 2, 3] }, 2)).toHaveLength(2);
});

test('listPatchedFiles lists each file of the given patches once, and at most eight files', () => {
  const patch = '*** Begin Patch\n*** Update File: src/a.ts\n*** Add File: b.ts\n*** Move to: c.ts\n';
  const diff = '--- a/d.ts\n+++ b/d.ts\n--- e.ts\n+++ /dev/null\n';
  const values = [patch, diff, patch, 'one line'].map((text) => ({ key: 'patch', text }));
  expect(listPatchedFiles(values)).toEqual(['src/a.ts', 'b.ts', 'c.ts', 'd.ts']);
  const many = Array.from({ length: 12 }, (_, at) => `+++ b/${at}.ts\n`).join('');
  expect(listPatchedFiles([{ key: 'patch', text: many }])).toHaveLength(8);
});
