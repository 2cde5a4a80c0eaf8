import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { parseInput } from '../../src/domain/parse.ts';
import { OWN_LIMITS, pickOwn, readTurnOwn, turnOwnFields, writeTurnOwn } from '../../src/domain/turn-own.ts';

const schema = z.strictObject(turnOwnFields);
const parameters = { type: 'object', properties: { city: { type: 'string' } } };
const tool = { name: 'get_weather', parameters };
let nested: object = { type: 'object' };
for (let depth = 0; depth < 70; depth += 1) nested = { properties: { inner: nested } };

describe('the fields that a turn brings of its own', () => {
  test.each([
    ['tools[0].name', { tools: [{ ...tool, name: 'get weather' }] }],
    ['tools[1].name', { tools: [tool, tool] }],
    ['tools[0].run', { tools: [{ ...tool, run: 'x' }] }],
    ['tools[0].description', { tools: [{ ...tool, description: 'ä'.repeat(OWN_LIMITS.descriptionBytes) }] }],
    ['tools[0].parameters', { tools: [{ name: 'x', parameters: [] }] }],
    ['tools[0].parameters', { tools: [{ name: 'x', parameters: { type: 'string' } }] }],
    ['tools[0].parameters', { tools: [{ name: 'x', parameters: { anyOf: [] } }] }],
    ['instructions', { instructions: 'x'.repeat(OWN_LIMITS.instructionsBytes + 1) }],
    ['answer.name', { answer: { schema: parameters, name: '' } }],
    ['answer.schema', { answer: { schema: 'object' } }],
    ['toolChoice', { toolChoice: 'get_weather' }],
    ['maxOutputTokens', { maxOutputTokens: 0 }],
    ['maxOutputTokens', { maxOutputTokens: OWN_LIMITS.outputTokens + 1 }],
  ])('are refused with an error that names %s', (field, given) => {
    expect(() => parseInput(schema, given)).toThrow(expect.objectContaining({ code: 'invalid_input', field }));
  });

  test('are refused if a schema is nested deeper than providers accept', () => {
    expect(() => parseInput(schema, { tools: [{ name: 'x', parameters: nested }] })).toThrow('tools[0].parameters');
  });

  test('are refused as too large if all tools together exceed 256 KiB', () => {
    const description = 'x'.repeat(OWN_LIMITS.descriptionBytes);
    const tools = Array.from({ length: 17 }, (_, index) => ({ name: `t${index}`, description, parameters }));
    expect(() => parseInput(schema, { tools })).toThrow(
      expect.objectContaining({ code: 'message_too_large', field: 'tools' }),
    );
  });

  test('are refused as too large if a schema has more than 64 KiB in UTF-8, whatever its characters are', () => {
    const describing = (text: string, count: number) => ({ description: text.repeat(count) });
    const limit = OWN_LIMITS.schemaBytes - JSON.stringify({ description: '' }).length;
    for (const [text, bytes] of [
      ['x', 1],
      ['ä', 2],
      ['訂', 3],
    ] as const) {
      const most = Math.floor(limit / bytes);
      expect(parseInput(schema, { answer: { schema: describing(text, most) } }).answer).toBeDefined();
      for (const [field, given] of [
        ['answer.schema', { answer: { schema: describing(text, most + 1) } }],
        ['tools[0].parameters', { tools: [{ ...tool, parameters: describing(text, most + 1) }] }],
      ] as const)
        expect(() => parseInput(schema, given)).toThrow(expect.objectContaining({ code: 'message_too_large', field }));
    }
  });

  test('have well-formed texts, and a schema with half of a surrogate pair is refused', () => {
    const given = { instructions: 'Cut \ud83d', tools: [{ ...tool, description: '\ude00 here' }] };
    const read = parseInput(schema, given);
    expect(read.instructions).toBe('Cut \ufffd');
    expect(read.tools?.[0]?.description).toBe('\ufffd here');
    for (const broken of [{ description: '\ud83d' }, { properties: { '\ude00': {} } }, { title: ['\ud83d'] }])
      expect(() => parseInput(schema, { answer: { schema: broken } })).toThrow(
        expect.objectContaining({ code: 'invalid_input', field: 'answer.schema' }),
      );
    expect(parseInput(schema, { answer: { schema: { description: '😀 \\ud83d' } } }).answer).toBeDefined();
  });

  test('are copied, so that later changes of the caller have no effect', () => {
    const given = { tools: [{ name: 'x', parameters: { properties: { a: { type: 'string' } } } }] };
    const read = parseInput(schema, given);
    Object.assign(given.tools[0]?.parameters ?? {}, { type: 'array' });
    expect(read.tools?.[0]?.parameters).toEqual({ properties: { a: { type: 'string' } } });
  });
});

describe('the stored form of the fields that a turn brings', () => {
  const whole = {
    tools: [{ ...tool, description: 'Weather of a city' }],
    instructions: 'Answer in French.',
    answer: { schema: parameters, name: 'report' },
    toolChoice: 'required',
    maxOutputTokens: 100,
  } as const;

  test('is read as it was written', () => {
    expect(readTurnOwn(writeTurnOwn(whole) ?? '')).toEqual(whole);
  });

  test('is nothing for fields that change nothing', () => {
    expect(pickOwn({ tools: [], instructions: '', toolChoice: 'auto' })).toBeUndefined();
    expect(writeTurnOwn({})).toBeUndefined();
  });

  test.each(['{"tools": 1}', '[]', 'null'])('is refused by its name if the text is %s', (text) => {
    expect(() => readTurnOwn(text)).toThrow(expect.objectContaining({ code: 'invalid_input', field: 'own' }));
  });
});
