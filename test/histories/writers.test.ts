import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Message } from '../../src/domain/message.ts';
import { readParts } from '../../src/domain/parts.ts';
import { WRITERS } from '../../src/wire/histories/writers/index.ts';
import { readDocument } from './formats/read-file.ts';

const anyWords = fc.array(fc.constantFrom('What', 'port', '8081', '"quoted"', 'a\nb', 'ü', '…', '\\n'), {
  minLength: 1,
  maxLength: 6,
});
const anyText = anyWords.map((words) => words.join(' '));
const anyInput = fc.dictionary(
  fc.constantFrom('path', 'text', 'list'),
  fc.oneof(anyText, fc.integer(), fc.array(fc.nat())),
  {
    maxKeys: 3,
    noNullPrototype: true,
  },
);
const PICTURE = { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' };

/** A user message, the calls of an answer with their results, and a final answer. */
const anyRound = fc
  .record({
    question: anyText,
    hasPicture: fc.boolean(),
    said: fc.option(anyText, { nil: '' }),
    calls: fc.array(fc.record({ input: anyInput, result: anyText, isError: fc.boolean() }), { maxLength: 3 }),
    answer: anyText,
  })
  .map(({ question, hasPicture, said, calls, answer }) => (round: number): Message[] => {
    const idOf = (at: number): string => `call_${round}_${at}`;
    return [
      {
        role: 'user',
        content: question,
        ...(hasPicture && { parts: [{ type: 'text', text: question }, PICTURE] }),
      },
      ...(calls.length === 0
        ? []
        : [
            {
              role: 'assistant' as const,
              content: said,
              toolCalls: calls.map(({ input }, at) => ({
                id: idOf(at),
                name: 'read',
                arguments: JSON.stringify(input),
              })),
            },
            ...calls.map(({ result, isError }, at) => ({
              role: 'tool' as const,
              toolCallId: idOf(at),
              content: result,
              ...(isError && { isError }),
            })),
          ]),
      { role: 'assistant', content: answer },
    ];
  });

const anyHistory = fc
  .record({ system: fc.option(anyText), rounds: fc.array(anyRound, { minLength: 1, maxLength: 4 }) })
  .map(({ system, rounds }): Message[] => [
    ...(system === null ? [] : [{ role: 'system' as const, content: system }]),
    ...rounds.flatMap((write, round) => write(round)),
  ]);

/** The parts of a message that each format can hold. */
function seen({ role, content, toolCalls, toolCallId, isError, parts }: Message, hasErrors: boolean): object {
  return {
    role,
    content,
    calls: toolCalls?.map(({ id, name, arguments: text }) => [id, name, JSON.parse(text) as unknown]) ?? [],
    toolCallId,
    isError: hasErrors && isError === true,
    pictures: parts === undefined ? [] : readParts({ content, parts }).filter(({ kind }) => kind !== 'text'),
  };
}

/** Formats of OpenAI do not say that a call failed. */
const WITHOUT_ERRORS = ['openai-chat', 'openai-responses'];

describe.each(WRITERS)('a conversation written in the format $name', ({ name, write }) => {
  const hasErrors = !WITHOUT_ERRORS.includes(name);

  test('an exported conversation is read back as the same conversation', () => {
    fc.assert(
      fc.property(anyHistory, (messages) => {
        const [read] = readDocument(JSON.parse(JSON.stringify(write(messages))));
        // Without calls, messages of several formats look the same.
        if (messages.some(({ toolCalls }) => toolCalls !== undefined)) expect(read?.format).toBe(name);
        expect(read?.messages.map((message) => seen(message, hasErrors))).toEqual(
          messages.map((message) => seen(message, hasErrors)),
        );
      }),
    );
  });
});
