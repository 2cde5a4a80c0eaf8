import type Anthropic from '@anthropic-ai/sdk';
import * as fc from 'fast-check';
import { describe, expect, expectTypeOf, test } from 'vitest';
import type { AnthropicBody } from '../../../src/wire/anthropic/body.ts';
import type { WireRequest } from '../../../src/wire/wire-request.ts';
import { countRuns } from '../../setup/count-runs.ts';
import { histories } from '../histories.ts';
import { sayRead, sayRequest } from '../round-trip.ts';
import { hasTraces, readConversations } from '../traces.ts';
import { renderAnthropic } from '../whole.ts';
import { findFaults } from './faults.ts';
import { readAnthropic } from './read.ts';

const THINKING = { type: 'enabled', budget_tokens: 2_048 } as const;

function toWire(body: AnthropicBody): unknown {
  return JSON.parse(JSON.stringify(body));
}

test('every body fits the types of the SDK, including its beta', () => {
  expectTypeOf<AnthropicBody>().toExtend<Anthropic.Messages.MessageCreateParamsNonStreaming>();
  expectTypeOf<AnthropicBody>().toExtend<Anthropic.Beta.Messages.MessageCreateParamsNonStreaming>();
});

describe('random histories', () => {
  test('are rendered to legal bodies', () => {
    fc.assert(
      fc.property(histories('anthropic'), (request) => {
        const { body } = renderAnthropic(request, { thinking: THINKING });
        expect(findFaults(toWire(body) as AnthropicBody)).toEqual([]);
      }),
      { numRuns: countRuns(500) },
    );
  });

  test.each([true, false])('are restored from the body (sendable: %s)', (isSendable) => {
    fc.assert(
      fc.property(histories('anthropic', { isSendable }), (request) => {
        const { body, marks } = renderAnthropic(request);
        expect(sayRead(readAnthropic(toWire(body), marks))).toEqual(sayRequest(request, marks));
      }),
      { numRuns: countRuns(500) },
    );
  });

  test('keep their prefix when they grow, so that caches and signatures hold', () => {
    fc.assert(
      fc.property(histories('anthropic'), fc.nat(), ({ messages, ...request }, cut) => {
        const ends = messages.flatMap(({ role }, index) => (role === 'user' ? [index + 1] : []));
        const end = ends[cut % ends.length] as number;
        const options = { hasCacheMarks: false };
        const render = (count: number): AnthropicBody =>
          renderAnthropic({ ...request, messages: messages.slice(0, count) }, options).body;
        const [short, long] = [render(end), render(messages.length)];
        fc.pre(isClosed(messages.slice(0, end)));
        fc.pre(JSON.stringify([short.tools, short.system]) === JSON.stringify([long.tools, long.system]));
        const shared = short.messages.length - 1;
        expect(long.messages.slice(0, shared)).toEqual(short.messages.slice(0, shared));
        const last = short.messages[shared]?.content ?? [];
        expect(long.messages[shared]?.content.slice(0, last.length)).toEqual(last);
      }),
      { numRuns: countRuns(500) },
    );
  });
});

function isClosed(messages: WireRequest['messages']): boolean {
  const calls = messages.flatMap(({ toolCalls = [] }) => toolCalls);
  return calls.length === messages.filter(({ role }) => role === 'tool').length;
}

describe.skipIf(!hasTraces)('recorded conversations (skipped without ../shared/traces)', () => {
  test('are legal, and restored from the body', () => {
    const conversations = readConversations();
    expect(conversations.length).toBeGreaterThan(200);
    for (const { messages } of conversations) {
      const closed = [...messages, { role: 'user' as const, content: 'Go on.' }];
      const request = { model: 'm', system: '', tools: [], messages: closed, maxOutputTokens: 1_024 };
      const { body, marks } = renderAnthropic(request);
      const wire = toWire(body) as AnthropicBody;
      expect(findFaults(wire)).toEqual([]);
      expect(sayRead(readAnthropic(wire, marks))).toEqual(sayRequest(request, marks));
      // In recorded conversations, only blank texts need the marks.
      const aside = [...marks.replaced.values()].filter(({ content }) => content.trim() !== '');
      expect(aside).toEqual([]);
    }
  }, 60_000);
});
