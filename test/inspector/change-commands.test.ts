import { expect, test } from 'vitest';
import { commandOf, withTenant } from '../../inspector/src/parts/commands.ts';

const commands = [
  commandOf('c-17', { kind: 'restore', version: 3, newer: 'drop' }),
  commandOf('c-17', { kind: 'rollback', turn: 't1' }),
  commandOf('c-17', { kind: 'fork', version: 3, to: 'c-18' }),
];

test('each change in the inspector shows the command that makes the same change', () => {
  expect(commands).toEqual([
    'turnfold restore c-17 --version 3 --drop',
    'turnfold rollback c-17 t1',
    'turnfold fork c-17 c-18 --version 3',
  ]);
  expect(commandOf('c-17', { kind: 'fork', version: 0, to: '' })).toBe('turnfold fork c-17 <new> --version 0');
});

test('the command of a change names the tenant of the key, unless that is the default tenant', () => {
  expect(withTenant('turnfold reject c-17', '_')).toBe('turnfold reject c-17');
  expect(withTenant('turnfold reject c-17', 'acme')).toBe('turnfold reject c-17 --tenant acme');
});
