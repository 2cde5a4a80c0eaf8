import { expect, test } from 'vitest';
import { readRunOwn } from '../../src/api/http/ag-ui/run-own.ts';

test('a run of AG-UI without anything of its own brings nothing to its turn', () => {
  expect(readRunOwn({ tools: [], context: [], state: {}, forwardedProps: {} }, [])).toEqual({});
  expect(readRunOwn({ tools: null, context: null, state: null, forwardedProps: null }, [])).toEqual({});
});

test('a tool of an AG-UI run without parameters takes an empty object', () => {
  const { tools } = readRunOwn({ tools: [{ name: 'look' }] }, []);
  expect(tools).toEqual([{ name: 'look', parameters: { type: 'object', properties: {} } }]);
});

test('the instructions of an AG-UI run are its system messages, then its context', () => {
  const messages = [{ id: 's', role: 'system', content: 'Speak French.' }];
  const context = [
    { description: 'User', value: 'Ada' },
    { description: 'Cart', value: { items: 2 } },
  ];
  expect(readRunOwn({ context }, messages).instructions).toBe(
    'Speak French.\n\nThe application gives this context:\n- User: Ada\n- Cart: {"items":2}',
  );
});

const REFUSALS = [
  ['a tool with an illegal name', 'tools[0].name', 'invalid_input', { tools: [{ name: 'a b' }] }],
  ['two tools of one name', 'tools[1].name', 'invalid_input', { tools: [{ name: 'a' }, { name: 'a' }] }],
  [
    'a context that is too large',
    'context',
    'message_too_large',
    { context: [{ description: 'page', value: 'x'.repeat(70_000) }] },
  ],
  ['a state that is too large', 'state', 'message_too_large', { state: { text: 'x'.repeat(17_000) } }],
  ['properties that are no object', 'forwardedProps', 'invalid_input', { forwardedProps: 'x' }],
] as const;

test.each(REFUSALS)('an AG-UI run with %s is refused by the field %s', (_, field, code, given) => {
  expect(() => readRunOwn(given as unknown as Parameters<typeof readRunOwn>[0], [])).toThrow(
    expect.objectContaining({ code, field }),
  );
});
