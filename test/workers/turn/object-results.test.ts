import { expect, it } from 'vitest';
import { readOutput } from '../../../src/workers/turn/tool-output.ts';

const cyclic: Record<string, unknown> = {};
cyclic['self'] = cyclic;

it.each([
  ['an object', { order: 'A1', lines: [1, 2] }, '{"order":"A1","lines":[1,2]}'],
  ['a list', [{ id: 1 }, { id: 2 }], '[{"id":1},{"id":2}]'],
  ['an object with a content among other fields', { content: 'x', total: 3 }, '{"content":"x","total":3}'],
  ['an object whose content is no text', { content: { a: 1 } }, '{"content":{"a":1}}'],
  ['a date inside of an object', { at: new Date(0) }, '{"at":"1970-01-01T00:00:00.000Z"}'],
])('the model reads JSON if a tool returns %s', (_, value, content) => {
  expect(readOutput(value)).toStrictEqual({ output: { content }, outcome: 'done' });
});

it('an object that a tool returns is read as {content, isError?} only if it has no other fields, and otherwise as JSON', () => {
  expect(readOutput({ content: 'x' })).toStrictEqual({ output: { content: 'x' }, outcome: 'done' });
  expect(readOutput({ content: 'x', isError: true })).toStrictEqual({
    output: { content: 'x', isError: true },
    outcome: 'failed',
  });
});

it.each([
  ['nothing', undefined],
  ['null', null],
  ['a number', 7],
  ['a cycle', cyclic],
  ['a BigInt inside of an object', { id: 1n }],
  ['more than 1 MiB', { text: 'x'.repeat(1_048_577) }],
])('the model reads an error if a tool returns %s', (_, value) => {
  expect(readOutput(value)).toMatchObject({ output: { isError: true }, outcome: 'invalid_result' });
});
