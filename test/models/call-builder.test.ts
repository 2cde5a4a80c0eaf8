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
  test('the builder of streamed tool calls joins the pieces of numbered calls, also if the pieces of two calls alternate', () => {
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

  test('the builder of streamed tool calls adds a piece with neither a number nor an id to the last call', () => {
    expect(build([{ id: 'a', name: 'read', text: '{"path"' }], [{ text: ':"y"}' }])).toEqual([
      ['a', 'read', '{"path":"y"}'],
    ]);
  });

  test('the builder of streamed tool calls starts a new call at a name after complete arguments, although the number stays 0', () => {
    const whole = { index: 0, name: 'read', text: '{"path":"y"}' };
    expect(build([whole], [whole])).toMatchObject([
      [expect.stringMatching(/^call_/), 'read', '{"path":"y"}'],
      [expect.stringMatching(/^call_/), 'read', '{"path":"y"}'],
    ]);
  });

  test('the builder of streamed tool calls drops `{}` before the arguments, which some gateways add', () => {
    const id = { index: 0, id: 'a', name: 'read' };
    expect(build([{ ...id, text: '{}' }], [{ ...id, text: '{"path":"y"}' }])).toEqual([['a', 'read', '{"path":"y"}']]);
  });

  test('the builder of streamed tool calls gives the second of two calls with the same id an id of its own', () => {
    const [first, second] = build([
      { index: 0, id: 'a', name: 'read', text: '{}' },
      { index: 1, id: 'a', name: 'read', text: '{}' },
    ]) as [string[], string[]];
    expect(first[0]).toBe('a');
    expect(second[0]).toMatch(/^call_/);
  });

  test('the builder of streamed tool calls accepts arguments that are an object, as the whole arguments of a call', () => {
    expect(build([{ index: 0, id: 'a', name: 'read', text: { path: 'y' } }])).toEqual([['a', 'read', '{"path":"y"}']]);
  });
});
