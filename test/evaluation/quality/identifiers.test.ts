import { describe, expect, test } from 'vitest';
import {
  findCallIdentifiers,
  findIdentifiers,
  findPlainWords,
  readLeaves,
} from '../../../src/evaluation/quality/identifiers.ts';

const callOf = (args: unknown) => ({ id: 'c1', name: 'book', arguments: JSON.stringify(args) });

describe('identifiers of a text', () => {
  test.each([
    ['url', 'see https://example.org/a?b=1.', 'https://example.org/a?b=1'],
    ['email', 'write to ann.lee@example.org, please', 'ann.lee@example.org'],
    ['path', 'open src/providers/user.py', 'src/providers/user.py'],
    ['file', 'edit setup.cfg first', 'setup.cfg'],
    ['date', 'leaves on 2024-05-15', '2024-05-15'],
    ['code', 'flight HAT123 is full', 'HAT123'],
    ['code', 'order #W2611340', '#W2611340'],
    ['hex', 'commit 9f3c2ab1', '9f3c2ab1'],
    ['name', 'call parse_header', 'parse_header'],
    ['name', 'class HttpServer', 'HttpServer'],
    ['name', 'use readFile', 'readFile'],
    ['dotted', 'see os.environ', 'os.environ'],
    ['number', 'costs $1,250.50 in all', '$1,250.50'],
    ['number', 'port 8080', '8080'],
  ])('findIdentifiers finds an identifier of the kind %s in "%s"', (kind, text, identifier) => {
    expect(findIdentifiers(text).get(identifier)).toBe(kind);
  });

  test('findIdentifiers leaves out words, short numbers and texts of less than three characters', () => {
    expect([...findIdentifiers('the result has 12 rows of a_ and 7 columns').keys()]).toEqual([]);
  });

  test('findIdentifiers gives a text of two kinds the kind that is listed first', () => {
    expect(findIdentifiers('lib/setup.py').get('lib/setup.py')).toBe('path');
  });
});

describe('identifiers of a call', () => {
  test('readLeaves lists values in nested lists and objects under the nearest argument name', () => {
    expect(readLeaves(callOf({ a: [{ b: 'x' }, 'y'], c: null, d: 3 }))).toEqual([
      { key: 'b', value: 'x' },
      { key: 'a', value: 'y' },
      { key: 'd', value: '3' },
    ]);
  });

  test('readLeaves returns arguments that are not JSON as one value', () => {
    expect(readLeaves({ id: 'c1', name: 'sh', arguments: 'ls -l' })).toEqual([{ key: '_raw', value: 'ls -l' }]);
  });

  test('findCallIdentifiers counts a short whole argument value as an identifier', () => {
    const found = findCallIdentifiers(callOf({ passenger: 'Sofia Silva', bags: '2', insured: 'yes' }));
    expect([...found]).toEqual([['Sofia Silva', 'value']]);
  });

  test('findCallIdentifiers never counts prose or code as a whole value', () => {
    expect([...findCallIdentifiers(callOf({ command: 'make all', content: 'hello' })).keys()]).toEqual([]);
  });
});

test('findPlainWords finds words of five or more letters that are not part of an identifier', () => {
  expect([...findPlainWords('Please delete branch feature/login and other_branch soon, without backup')]).toEqual([
    'delete',
    'branch',
    'without',
    'backup',
  ]);
});
