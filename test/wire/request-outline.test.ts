import { describe, expect, test } from 'vitest';
import { outlineRequest } from '../../src/wire/request-outline.ts';

const secret = 'the launch code is 4711';

function bodyOf(count: number) {
  return {
    model: 'm',
    system: [{ type: 'text', text: secret }],
    tools: [{ name: 'read', description: secret, input_schema: { type: 'object', properties: { [secret]: {} } } }],
    messages: Array.from({ length: count }, (_, index) => ({
      role: index % 2 === 0 ? 'user' : 'assistant',
      content: [
        { type: 'text', text: index === 3 ? ' ' : `${secret} ${index}` },
        { type: 'tool_use', id: `toolu_${index}`, name: 'read', input: { [secret]: secret } },
      ],
    })),
  };
}

describe('the outline of a request that a provider refused', () => {
  test('the outline of a request that a provider refused has roles, types, ids and sizes, but no contents', () => {
    const form = outlineRequest(bodyOf(4), 'no place');
    expect(form).not.toContain(secret);
    expect(JSON.parse(form)).toMatchObject({
      model: 'm',
      system: [{ type: 'text', text: 'text, 23' }],
      tools: [{ name: 'read', description: 'text, 23' }],
      messages: {
        of: 4,
        from: 0,
        items: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'text, 25' },
              { type: 'tool_use', id: 'toolu_0', name: 'read' },
            ],
          },
          {},
          {},
          { role: 'assistant', content: [{ text: 'blank, 1' }, {}] },
        ],
      },
    });
  });

  test.each(['messages.10.content.1: unexpected', 'messages[10].content: wrong', "Invalid 'input[10].id'"])(
    'the outline of a request that a provider refused has only the messages around the message that the error "%s" names',
    (refusal) => {
      const list = refusal.includes('input') ? 'input' : 'messages';
      const { messages, ...rest } = bodyOf(20);
      const form = JSON.parse(outlineRequest({ ...rest, [list]: messages }, refusal)) as Record<string, unknown>;
      expect(form[list]).toMatchObject({ of: 20, from: 8, items: { length: 5 } });
    },
  );

  test('the outline of a request that a provider refused has the last messages if the error names no message', () => {
    expect(JSON.parse(outlineRequest(bodyOf(20), 'bad request'))).toMatchObject({
      messages: { of: 20, from: 14, items: { length: 6 } },
    });
  });

  test.each([null, 'text', [1]])(
    'the outline of the request body %j, which is not an object, is only its size',
    (body) => {
      expect(outlineRequest(body, '')).not.toContain('text"text');
      expect(JSON.parse(outlineRequest(body, ''))).toEqual(expect.any(String));
    },
  );
});
