import { describe, expect, test } from 'vitest';
import { compactMessages } from '../../src/compact.ts';
import { page } from './dialects.ts';
import { expectPaired } from './requests.ts';

const policy = { mask_tool_results: true, retention_window: 2, scope: 'prefix' };
const [first, second] = [page(1), page(2)];

/** Compacts two results of one round, of which newer rounds follow. */
async function compactRound(messages: readonly unknown[]): Promise<unknown[]> {
  const { messages: returned } = await compactMessages({
    messages,
    policy: { ...policy, max_tokens: 3_000 },
    force: true,
  });
  return returned;
}

describe('results that a compaction shortened', () => {
  test('compactMessages keeps the keys of an Anthropic result block that it masks, and leaves the other blocks of the message unchanged', async () => {
    const note = { type: 'text', text: 'Both pages are there.', cache_control: { type: 'ephemeral' } };
    const results = [
      { type: 'tool_result', tool_use_id: 'call-1', content: first, cache_control: { type: 'ephemeral' } },
      { type: 'tool_result', tool_use_id: 'call-2', content: 'short' },
    ];
    const uses = ['call-1', 'call-2'].map((id) => ({ type: 'tool_use', id, name: 'read', input: {} }));
    const messages = [
      { role: 'user', content: 'Read.' },
      { role: 'assistant', content: uses },
      { role: 'user', content: [...results, note] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'call-3', name: 'read', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call-3', content: page(3) }] },
    ];
    const returned = await compactRound(messages);
    expectPaired(returned);
    const changed = returned.find((message) => JSON.stringify(message).includes('[result masked'));
    expect(changed).toStrictEqual({
      role: 'user',
      content: [{ ...results[0], content: expect.stringContaining('[result masked') as string }, results[1], note],
    });
  });

  test('compactMessages keeps the item type of a Responses API output that it masks', async () => {
    const messages = [
      { role: 'user', content: 'Run.' },
      { type: 'custom_tool_call', call_id: 'call-1', name: 'patch', input: 'x' },
      { type: 'custom_tool_call_output', call_id: 'call-1', output: first },
      { type: 'shell_call', call_id: 'call-2', action: { commands: ['ls'] }, status: 'completed' },
      {
        type: 'shell_call_output',
        call_id: 'call-2',
        output: [{ stdout: second, stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
      },
      { type: 'function_call', call_id: 'call-3', name: 'read', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call-3', output: page(3) },
    ];
    const returned = (await compactRound(messages)) as Record<string, unknown>[];
    const masked = returned.filter((item) => JSON.stringify(item).includes('[result masked'));
    expect(masked.map(({ type, call_id: id }) => [type, id])).toStrictEqual([
      ['custom_tool_call_output', 'call-1'],
      ['shell_call_output', 'call-2'],
    ]);
    expect(masked[1]?.['output']).toMatchObject([{ stderr: '', outcome: { type: 'exit' } }]);
    expect(returned).toContain(messages[1]);
  });

  test('compactMessages keeps the unchanged results of an AI SDK message in which it masks another result', async () => {
    const result = (toolCallId: string, output: unknown) => ({
      type: 'tool-result',
      toolCallId,
      toolName: 'read',
      output,
    });
    const call = (toolCallId: string) => ({ type: 'tool-call', toolCallId, toolName: 'read', input: {} });
    const small = result('call-2', { type: 'json', value: { pages: 2 } });
    const messages = [
      { role: 'user', content: 'Read.' },
      { role: 'assistant', content: [call('call-1'), call('call-2')] },
      { role: 'tool', content: [result('call-1', { type: 'text', value: first }), small] },
      { role: 'assistant', content: [call('call-3')] },
      { role: 'tool', content: [result('call-3', { type: 'text', value: page(3) })] },
    ];
    const returned = await compactRound(messages);
    const changed = returned.find((message) => JSON.stringify(message).includes('[result masked')) as {
      content: unknown[];
    };
    expect(changed.content[1]).toBe(small);
    expect(changed.content[0]).toMatchObject({ toolCallId: 'call-1', output: { type: 'text' } });
    expect(returned).toContain(messages[1]);
  });
});
