import { describe, expect, test } from 'vitest';
import { CallBuilder } from '../../src/providers/openai/call-builder.ts';

interface Piece {
  readonly index?: number;
  readonly id?: string;
  readonly name?: string;
  readonly text?: unknown;
}

/** Adds each list of pieces as a chunk, and returns the finished calls. */
function build(...chunks: readonly (readonly Piece[])[]): unknown[] {
  const builder = new CallBuilder();
  for (const pieces of chunks) {
    builder.add(pieces.map(({ index, id, name, text }) => ({ index, id, function: { name, arguments: text } })));
  }
  return builder.finish().map(({ id, function: called }) => [id, called.name, called.arguments]);
}

describe('a builder of streamed tool calls', () => {
  test('joins the pieces of numbered calls, also if they alternate', () => {
    const first = [
      { index: 0, id: 'a', name: 'read', text: '{"path"' },
      { index: 1, id: 'b', name: 'grep', text: '{"for"' },
    ];
    const rest = [
      { index: 1, text: ':"x"}' },
      { index: 0, text: ':"y"}' },
    ];
    expect(build(first, rest)).toEqual([
      ['a', 'read', '{"path":"y"}'],
      ['b', 'grep', '{"for":"x"}'],
    ]);
  });

  test('continues the last call with a piece that has neither a number nor an id', () => {
    expect(build([{ id: 'a', name: 'read', text: '{"path"' }], [{ text: ':"y"}' }])).toEqual([
      ['a', 'read', '{"path":"y"}'],
    ]);
  });

  test('starts a call with a name after complete arguments, although the number stays 0', () => {
    const whole = { index: 0, name: 'read', text: '{"path":"y"}' };
    expect(build([whole], [whole])).toMatchObject([
      [expect.stringMatching(/^call_/), 'read', '{"path":"y"}'],
      [expect.stringMatching(/^call_/), 'read', '{"path":"y"}'],
    ]);
  });

  test('drops `{}` before the arguments, which some gateways add', () => {
    const id = { index: 0, id: 'a', name: 'read' };
    expect(build([{ ...id, text: '{}' }], [{ ...id, text: '{"path":"y"}' }])).toEqual([['a', 'read', '{"path":"y"}']]);
  });

  test('gives the second of two calls with one id an id of its own', () => {
    const [first, second] = build([
      { index: 0, id: 'a', name: 'read', text: '{}' },
      { index: 1, id: 'a', name: 'read', text: '{}' },
    ]) as [string[], string[]];
    expect(first[0]).toBe('a');
    expect(second[0]).toMatch(/^call_/);
  });

  test('takes arguments that are no text for all arguments of the call', () => {
    expect(build([{ index: 0, id: 'a', name: 'read', text: { path: 'y' } }])).toEqual([['a', 'read', '{"path":"y"}']]);
  });
});
