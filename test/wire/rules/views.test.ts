import { describe, expect, test } from 'vitest';
import { runToEnd } from '../../../src/domain/interruptible.ts';
import { viewAnthropic } from '../../../src/wire/anthropic/view.ts';
import { viewChat } from '../../../src/wire/openai-chat/view.ts';
import { viewResponses } from '../../../src/wire/openai-responses/view.ts';

const CALL = { id: 'c1', name: 'read' };

describe('the view of an Anthropic body', () => {
  const view = runToEnd(
    viewAnthropic({
      system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: [{ type: 'tool_use', ...CALL, input: { path: 'a' } }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'text' }] },
        { role: 'user', content: [{ type: 'text', text: '', cache_control: null }] },
        { role: 'assistant', content: [{ type: 'video', id: 'v' }] },
      ],
    }),
  );

  test('the view of an Anthropic body separates tool results from messages of a user', () => {
    expect(view.messages.map(({ author }) => author)).toEqual(['user', 'assistant', 'result', 'user', 'assistant']);
    expect(view.loopStart).toBe(4);
  });

  test('the view of an Anthropic body lists calls and results with their positions', () => {
    expect(view.calls).toMatchObject([{ ...CALL, position: 1, answer: 1, input: { path: 'a' } }]);
    expect(view.results).toEqual([{ path: 'messages[2].content[0]', callId: 'c1', position: 2 }]);
  });

  test('the view of an Anthropic body lists texts with their paths, also those of the system prompt and of results', () => {
    expect(view.texts.map(({ path, position }) => [path, position])).toEqual([
      ['system[0]', -1],
      ['messages[0].content', 0],
      ['messages[2].content[0].content', 2],
      ['messages[3].content[0]', 3],
    ]);
  });

  test('the view of an Anthropic body lists cache breakpoints, but not a breakpoint of null', () => {
    expect(view.cacheMarks).toEqual(['system[0]']);
  });

  test('the view of an Anthropic body names a block of an unknown type by its type', () => {
    expect(view.blocks.at(-1)).toMatchObject({ type: 'other', kind: 'video', path: 'messages[4].content[0]' });
    expect(view.malformed).toEqual([]);
  });
});

describe('the view of a Chat Completions body', () => {
  const view = runToEnd(
    viewChat({
      messages: [
        { role: 'developer', content: 'Be brief.' },
        { role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://a.example/a.png' } }] },
        { role: 'assistant', tool_calls: [{ id: 'c1', function: { name: 'read', arguments: '{"path":"a"}' } }] },
        { role: 'tool', tool_call_id: 'c1', content: 'text' },
        { role: 'assistant', content: 'Done', reasoning_details: [] },
        { content: 'Who said this?' },
      ],
      tools: [{ type: 'custom', custom: { name: 'grep' } }],
    }),
  );

  test('the view of a Chat Completions body counts a developer message as a system message, and a message without a role as malformed', () => {
    const authors = ['system', 'user', 'assistant', 'result', 'assistant', 'user'];
    expect(view.messages.map(({ author }) => author)).toEqual(authors);
    expect(view.malformed).toMatchObject([{ path: 'messages[5].role' }]);
  });

  test('the view of a Chat Completions body reads the arguments of a call from their JSON', () => {
    expect(view.calls).toMatchObject([{ ...CALL, path: 'messages[2].tool_calls[0]', input: { path: 'a' } }]);
    expect(view.untextedCalls).toEqual([]);
  });

  test('the view of a Chat Completions body states for each message whether it has content, calls, pictures and reasoning', () => {
    expect(view.chat[1]).toMatchObject({ images: ['messages[1].content[0]'], hasContent: true });
    expect(view.chat[2]).toMatchObject({ hasContent: false, hasCalls: true, hasReasoning: false });
    expect(view.chat[4]).toMatchObject({ hasReasoning: true, hasOnlyDetails: true });
  });

  test('the view of a Chat Completions body lists custom tools', () => {
    expect(view.tools).toEqual([{ path: 'tools[0]', name: 'grep' }]);
  });
});

describe('the view of a Responses body', () => {
  const view = runToEnd(
    viewResponses({
      input: [
        { role: 'user', content: 'Hi' },
        { type: 'reasoning', id: 'rs', summary: [] },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'I read.' }] },
        { type: 'function_call', call_id: 'c1', name: 'read', arguments: '{"path":"a"}' },
        { type: 'function_call_output', call_id: 'c1', output: 'text' },
        { type: 'web_search_call', id: 'ws' },
      ],
      tools: [{ type: 'namespace', name: 'files', tools: [{ name: 'read' }] }],
      previous_response_id: 'resp',
    }),
  );

  test('the view of a Responses body joins neighbouring items of the assistant into one answer', () => {
    expect(view.items.map(({ answer }) => answer)).toEqual([undefined, 1, 1, 1, undefined, 5]);
  });

  test('the view of a Responses body lists only calls whose output is an item of its own', () => {
    expect(view.calls).toMatchObject([{ ...CALL, position: 3, answer: 1, input: { path: 'a' } }]);
    expect(view.results).toEqual([{ path: 'input[4]', callId: 'c1', position: 4 }]);
  });

  test('the view of a Responses body lists the tools inside a namespace', () => {
    expect(view.tools.map(({ path, name }) => [path, name])).toEqual([
      ['tools[0]', 'files'],
      ['tools[0].tools[0]', 'read'],
    ]);
  });

  test('the view of a Responses body names a history that the server stored', () => {
    expect(view.serverHistory).toEqual(['previous_response_id']);
    expect(view.usesReasoning).toBe(true);
  });
});
