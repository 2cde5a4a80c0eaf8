import * as fc from 'fast-check';
import type OpenAI from 'openai';
import { describe, expect, expectTypeOf, test } from 'vitest';
import type { ChatBody } from '../../../src/wire/openai-chat/body.ts';
import type { ResponsesBody } from '../../../src/wire/openai-responses/body.ts';
import type { Rendered, Violation, WireRequest } from '../../../src/wire/wire-request.ts';
import { countRuns } from '../../setup/count-runs.ts';
import { histories } from '../histories.ts';
import type { WireMessages } from '../restore-messages.ts';
import { sayRead, sayRequest } from '../round-trip.ts';
import { hasTraces, readConversations } from '../traces.ts';
import { renderChat, renderResponses, validateChat, validateResponses } from '../whole.ts';
import { readChat } from './read-chat.ts';
import { readResponses } from './read-responses.ts';

interface Form {
  readonly name: string;
  readonly format: 'openai-chat' | 'openai-responses';
  readonly render: (request: WireRequest) => Rendered<unknown>;
  readonly read: (body: unknown, marks: Rendered<unknown>['marks']) => WireMessages;
  readonly validate: (body: unknown) => Violation[];
}

const chat = { format: 'openai-chat', read: readChat, validate: validateChat } as const;
const FORMS: readonly Form[] = [
  { name: 'Chat', ...chat, render: renderChat },
  { name: 'Chat, strict templates', ...chat, render: (request) => renderChat(request, { isStrict: true }) },
  {
    name: 'Responses',
    format: 'openai-responses',
    render: renderResponses,
    read: readResponses,
    validate: validateResponses,
  },
];

function toWire(body: unknown): unknown {
  return JSON.parse(JSON.stringify(body));
}

test('every body fits the types of the SDK', () => {
  expectTypeOf<ChatBody>().toExtend<OpenAI.Chat.Completions.ChatCompletionCreateParamsNonStreaming>();
  expectTypeOf<ResponsesBody>().toExtend<OpenAI.Responses.ResponseCreateParamsNonStreaming>();
});

describe.each(FORMS)('$name: random histories', ({ format, render, read, validate }) => {
  test('are rendered to legal bodies', () => {
    fc.assert(
      fc.property(histories(format), (request) => {
        expect(validate(toWire(render(request).body))).toEqual([]);
      }),
      { numRuns: countRuns(500) },
    );
  });

  test.each([true, false])('are restored from the body (sendable: %s)', (isSendable) => {
    fc.assert(
      fc.property(histories(format, { isSendable }), (request) => {
        const { body, marks } = render(request);
        expect(sayRead(read(toWire(body), marks))).toEqual(sayRequest(request, marks));
      }),
      { numRuns: countRuns(500) },
    );
  });
});

test('Responses: a history keeps its prefix when it grows, so that caches hold', () => {
  fc.assert(
    fc.property(histories('openai-responses'), fc.nat(), ({ messages, ...request }, cut) => {
      const ends = messages.flatMap(({ role }, index) => (role === 'user' ? [index + 1] : []));
      const end = ends[cut % ends.length] as number;
      const render = (count: number): ResponsesBody =>
        renderResponses({ ...request, messages: messages.slice(0, count) }).body;
      const [short, long] = [render(end), render(messages.length)];
      fc.pre(validateResponses(short).length === 0);
      // Invented tools and system messages change the start of the body at any time.
      fc.pre(JSON.stringify(headOf(short)) === JSON.stringify(headOf(long)));
      expect(long.input.slice(0, short.input.length)).toEqual(short.input);
    }),
    { numRuns: countRuns(500) },
  );
});

function headOf({ tools, input }: ResponsesBody): unknown {
  return [tools, input.filter((item) => 'role' in item && item.role === 'developer')];
}

describe.skipIf(!hasTraces)('recorded conversations (skipped without ../shared/traces)', () => {
  test.each(FORMS)(
    '$name: are legal, and restored from the body',
    ({ render, read, validate }) => {
      for (const { messages } of readConversations()) {
        const closed = [...messages, { role: 'user' as const, content: 'Go on.' }];
        const request = { model: 'm', system: '', tools: [], messages: closed, maxOutputTokens: 1_024 };
        const { body, marks } = render(request);
        const wire = toWire(body);
        expect(validate(wire)).toEqual([]);
        expect(sayRead(read(wire, marks))).toEqual(sayRequest(request, marks));
      }
    },
    60_000,
  );
});
