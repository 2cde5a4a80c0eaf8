import type Anthropic from '@anthropic-ai/sdk';
import * as fc from 'fast-check';
import type OpenAI from 'openai';
import { expect, expectTypeOf, test } from 'vitest';
import type { AnthropicBody } from '../../src/wire/anthropic/body.ts';
import type { ChatBody } from '../../src/wire/openai-chat/body.ts';
import type { ResponsesBody } from '../../src/wire/openai-responses/body.ts';
import type { WireRequest } from '../../src/wire/wire-request.ts';
import { countRuns } from '../setup/count-runs.ts';
import { histories } from './histories.ts';
import { renderAnthropic, renderResponses, validateResponses } from './synchronous-formats.ts';

const RUNS = { numRuns: countRuns(500) };

test('turnfold’s request types of every format are assignable to the SDK’s request types, including Anthropic’s beta', () => {
  expectTypeOf<AnthropicBody>().toExtend<Anthropic.Messages.MessageCreateParamsNonStreaming>();
  expectTypeOf<AnthropicBody>().toExtend<Anthropic.Beta.Messages.MessageCreateParamsNonStreaming>();
  expectTypeOf<ChatBody>().toExtend<OpenAI.Chat.Completions.ChatCompletionCreateParamsNonStreaming>();
  expectTypeOf<ResponsesBody>().toExtend<OpenAI.Responses.ResponseCreateParamsNonStreaming>();
});

/** Returns the request cut before one of its user messages, and the whole request. */
function cutRequest({ messages, ...request }: WireRequest, cut: number): [WireRequest, WireRequest] {
  const ends = messages.flatMap(({ role }, index) => (role === 'user' ? [index + 1] : []));
  const end = ends[cut % ends.length] as number;
  return [
    { ...request, messages: messages.slice(0, end) },
    { ...request, messages },
  ];
}

test('an Anthropic request keeps its start while the history grows, so that prompt caches and thinking signatures stay valid', () => {
  fc.assert(
    fc.property(histories('anthropic'), fc.nat(), (request, cut) => {
      const [part, whole] = cutRequest(request, cut);
      fc.pre(hasAllResults(part));
      const [short, long] = [part, whole].map((sent) => renderAnthropic(sent, { hasCacheMarks: false }).body) as [
        AnthropicBody,
        AnthropicBody,
      ];
      // A description of a newly invented tool, or a new system message, changes the start of the body.
      fc.pre(JSON.stringify([short.tools, short.system]) === JSON.stringify([long.tools, long.system]));
      const shared = short.messages.length - 1;
      expect(long.messages.slice(0, shared)).toEqual(short.messages.slice(0, shared));
      const last = short.messages[shared]?.content ?? [];
      expect(long.messages[shared]?.content.slice(0, last.length)).toEqual(last);
    }),
    RUNS,
  );
});

function hasAllResults({ messages }: WireRequest): boolean {
  const calls = messages.flatMap(({ toolCalls = [] }) => toolCalls);
  return calls.length === messages.filter(({ role }) => role === 'tool').length;
}

test('a Responses API request keeps its start while the history grows, so that prompt caches stay valid', () => {
  fc.assert(
    fc.property(histories('openai-responses'), fc.nat(), (request, cut) => {
      const [short, long] = cutRequest(request, cut).map((sent) => renderResponses(sent).body) as [
        ResponsesBody,
        ResponsesBody,
      ];
      fc.pre(validateResponses(short).length === 0);
      fc.pre(JSON.stringify(headOf(short)) === JSON.stringify(headOf(long)));
      expect(long.input.slice(0, short.input.length)).toEqual(short.input);
    }),
    RUNS,
  );
});

function headOf({ tools, input }: ResponsesBody): unknown {
  return [tools, input.filter((item) => 'role' in item && item.role === 'developer')];
}
