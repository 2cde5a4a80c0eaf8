import { describe, expect, test } from 'vitest';
import { groupMessages } from '../../src/domain/group.ts';
import { adoptMessages } from '../../src/domain/history.ts';
import { runToEnd } from '../../src/domain/interruptible.ts';
import { type Message, messageSchema } from '../../src/domain/message.ts';
import { readParts } from '../../src/domain/parts.ts';
import { WIRE_FORMATS } from '../../src/domain/raw-items.ts';
import { wireFormats } from '../../src/wire/formats.ts';
import { checkOpenRound, checkPins } from '../../src/wire/rules/version-checks.ts';
import { eventLoopShare } from '../../src/wire/tokens/event-loop-share.ts';
import { bytesOfMessage } from '../../src/wire/tokens/message-tokens.ts';
import { holdsShortly } from '../setup/held-loop.ts';

/** A message has at most 60,000 values, and an object counts twice. */
const PARTS = 29_000;
const CALLS = 10_000;

test(`reading ${PARTS} empty parts of one message blocks the event loop for less than the limit`, async () => {
  const message: Message = { role: 'user', content: 'hello', parts: Array.from({ length: PARTS }, () => ({})) };
  expect(await holdsShortly(() => readParts(message))).toMatchObject({ isShort: true });
  expect(await holdsShortly(() => bytesOfMessage(message))).toMatchObject({ isShort: true });
  expect(await holdsShortly(() => messageSchema.parse(message))).toMatchObject({ isShort: true });
});

/**
 * A tool round whose first message makes all calls. `idOf` returns call ids that a provider accepts, or ids that must
 * be replaced.
 */
function roundOf(idOf: (index: number) => string): Message[] {
  const ids = Array.from({ length: CALLS }, (_, index) => idOf(index));
  return [
    { role: 'user', content: 'go on' },
    { role: 'assistant', content: '', toolCalls: ids.map((id) => ({ id, name: 'read', arguments: '{}' })) },
    ...ids.map((toolCallId): Message => ({ role: 'tool', content: 'done', toolCallId })),
  ];
}

describe.each([
  ['short ids', (index: number) => `c2_${index}`],
  ['long ids with one stem', (index: number) => `${'x'.repeat(70)}${index}`],
])(`a message with ${CALLS} calls and %s`, (ids, idOf) => {
  const messages = roundOf(idOf);

  test(`adopting and grouping ${CALLS} calls with ${ids} blocks the event loop for less than the limit`, async () => {
    expect(await holdsShortly(() => adoptMessages(messages, 1))).toMatchObject({ isShort: true });
    expect(await holdsShortly(() => groupMessages(messages))).toMatchObject({ isShort: true });
  });

  test(`comparing an unanswered tool round of ${CALLS} calls with ${ids} blocks the event loop for less than the limit`, async () => {
    const open = messages.slice(0, 2);
    expect(await holdsShortly(() => runToEnd(checkOpenRound(open, structuredClone(open))))).toMatchObject({
      isShort: true,
    });
  });

  test.each(WIRE_FORMATS)(
    `rendering and checking ${CALLS} calls with ${ids} as %s blocks the event loop for less than the limit`,
    async (format) => {
      const { renderInSlices, validateInSlices } = wireFormats[format];
      const request = { model: 'm', system: 'Be brief.', tools: [], messages, maxOutputTokens: 100 };
      let body: unknown;
      expect(
        await holdsShortly(async () => {
          ({ body } = await eventLoopShare.run(renderInSlices(request)));
        }),
      ).toMatchObject({ isShort: true });
      expect(
        await holdsShortly(async () => await eventLoopShare.run(validateInSlices(body, { isProbed: true }))),
      ).toMatchObject({ isShort: true });
    },
  );
});

test('the message schema refuses a message with more than 1,000 tool calls', () => {
  const [, message] = roundOf((index) => `c2_${index}`);
  const toolCalls = message?.toolCalls ?? [];
  expect(messageSchema.safeParse({ ...message, toolCalls: toolCalls.slice(0, 1_000) }).success).toBe(true);
  expect(messageSchema.safeParse({ ...message, toolCalls: toolCalls.slice(0, 1_001) }).success).toBe(false);
});

test(`finding ${CALLS} pinned messages in a request blocks the event loop for less than the limit`, async () => {
  const messages = Array.from({ length: CALLS }, (_, index): Message => {
    return { role: 'user', content: `pinned ${index}`, pinned: true };
  });
  const rendered = wireFormats['openai-responses'].render({
    model: 'm',
    system: 'Be brief.',
    tools: [],
    messages,
    maxOutputTokens: 100,
  });
  expect(await holdsShortly(() => eventLoopShare.run(checkPins({ messages }, rendered, ['Be brief.'])))).toMatchObject({
    isShort: true,
  });
  expect(runToEnd(checkPins({ messages }, rendered, ['Be long.']))).toHaveLength(1);
});
