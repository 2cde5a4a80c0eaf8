import { describe, expect, test } from 'vitest';
import { ERROR_TABLE } from '../../src/providers/error-table.ts';
import { classifyFailure } from '../../src/providers/provider-errors.ts';

const rows = ERROR_TABLE.map((row) => [row.words, row] as const);

function repeated<Value>(values: readonly Value[]): Value[] {
  return values.filter((value, index) => values.indexOf(value) !== index);
}

describe('the table of provider errors', () => {
  test('the table of provider errors lists each code, each status and each description once', () => {
    expect(repeated(ERROR_TABLE.flatMap(({ types = [] }) => types))).toEqual([]);
    expect(repeated(ERROR_TABLE.flatMap(({ statuses = [] }) => statuses))).toEqual([]);
    expect(repeated(ERROR_TABLE.map(({ words }) => words))).toEqual([]);
  });

  test.each(rows)('classifies by its codes: %s', (words, { kind, types = [] }) => {
    for (const code of types) {
      expect(classifyFailure({ status: 418, code, message: '' }, 0)).toMatchObject({ kind, code });
      expect(classifyFailure({ code, message: '' }, 0).message).toBe(`${words} (${code})`);
    }
  });

  test.each(rows)('classifies by its statuses: %s', (words, { kind, statuses = [] }) => {
    for (const status of statuses) {
      const error = classifyFailure({ status, message: '' }, 0);
      expect(error).toMatchObject({ kind, message: `${words} (${status})` });
    }
  });

  test('the table of provider errors names another form of request only for an error that calls the request malformed', () => {
    expect(ERROR_TABLE.filter(({ lesson, kind }) => lesson !== undefined && kind !== 'invalid')).toEqual([]);
  });

  test('the table of provider errors lets calls of other turns wait only for an error that passes by itself', () => {
    expect(ERROR_TABLE.filter(({ isLimit, kind }) => isLimit === true && kind !== 'retry')).toEqual([]);
  });
});
