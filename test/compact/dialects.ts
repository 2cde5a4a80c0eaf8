import type { MessageFormat } from '../../src/evaluation/compact/kinds/kind.ts';

/** How a program writes the messages of an agent's loop in one format. */
export interface Dialect {
  readonly user: (text: string) => unknown;
  readonly call: (id: string, args: Record<string, unknown>) => unknown[];
  readonly result: (id: string, text: string) => unknown[];
  readonly says: (text: string) => unknown;
}

const chatCall = (id: string, args: unknown) => ({
  id,
  type: 'function',
  function: { name: 'look', arguments: JSON.stringify(args) },
});

/** Formats whose calls and results are messages of their own. */
export const DIALECTS: Readonly<Partial<Record<MessageFormat, Dialect>>> = {
  turnfold: {
    user: (content) => ({ role: 'user', content }),
    call: (id, args) => [
      { role: 'assistant', content: '', toolCalls: [{ id, name: 'look', arguments: JSON.stringify(args) }] },
    ],
    result: (toolCallId, content) => [{ role: 'tool', toolCallId, content }],
    says: (content) => ({ role: 'assistant', content }),
  },
  'openai-chat': {
    user: (content) => ({ role: 'user', content }),
    call: (id, args) => [{ role: 'assistant', content: null, tool_calls: [chatCall(id, args)] }],
    result: (id, content) => [{ role: 'tool', tool_call_id: id, content }],
    says: (content) => ({ role: 'assistant', content }),
  },
  anthropic: {
    user: (content) => ({ role: 'user', content }),
    call: (id, input) => [
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'I look it up.', signature: 'c2ln' },
          { type: 'tool_use', id, name: 'look', input },
        ],
      },
    ],
    result: (id, text) => [
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: [{ type: 'text', text }] }] },
    ],
    says: (text) => ({ role: 'assistant', content: [{ type: 'text', text }] }),
  },
  'openai-responses': {
    user: (text) => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }),
    call: (id, args) => [
      { type: 'reasoning', id: `rs_${id}`, summary: [], encrypted_content: 'gAAAA'.repeat(8) },
      { type: 'function_call', id: `fc_${id}`, call_id: id, name: 'look', arguments: JSON.stringify(args) },
    ],
    result: (id, output) => [{ type: 'function_call_output', call_id: id, output }],
    says: (text) => ({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] }),
  },
  'openai-agents': {
    user: (content) => ({ type: 'message', role: 'user', content }),
    call: (callId, args) => [
      { type: 'function_call', callId, name: 'look', status: 'completed', arguments: JSON.stringify(args) },
    ],
    result: (callId, text) => [
      { type: 'function_call_result', callId, name: 'look', status: 'completed', output: { type: 'text', text } },
    ],
    says: (text) => ({
      type: 'message',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text }],
    }),
  },
  'ai-sdk': {
    user: (text) => ({ role: 'user', content: [{ type: 'text', text }] }),
    call: (toolCallId, input) => [
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'I look it up.' },
          { type: 'tool-call', toolCallId, toolName: 'look', input },
        ],
      },
    ],
    result: (toolCallId, value) => [
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId, toolName: 'look', output: { type: 'text', value } }],
      },
    ],
    says: (text) => ({ role: 'assistant', content: [{ type: 'text', text }] }),
  },
  langchain: {
    user: (content) => ({ type: 'human', data: { content } }),
    call: (id, args) => [
      { type: 'ai', data: { content: '', tool_calls: [{ id, name: 'look', args, type: 'tool_call' }] } },
    ],
    result: (id, content) => [{ type: 'tool', data: { content, tool_call_id: id, name: 'look', status: 'success' } }],
    says: (content) => ({ type: 'ai', data: { content } }),
  },
};

/** A result of about 600 tokens that repeats nothing. */
export function page(step: number): string {
  const rows = Array.from({ length: 30 }, (_, row) => {
    return { id: `INV-${step}-${row}`, customer: `customer ${step * 31 + row}`, cents: step * 1_000 + row * 7 };
  });
  return JSON.stringify(rows);
}

/** Messages that one step of a loop adds: a question every tenth step, and a call with its result. */
export function stepOf({ user, call, result, says }: Dialect, step: number): unknown[] {
  const asked =
    step % 10 === 0
      ? [...(step > 0 ? [says(`Done with part ${step / 10}.`)] : []), user(`Look at part ${step / 10}.`)]
      : [];
  return [...asked, ...call(`call-${step}`, { page: step }), ...result(`call-${step}`, page(step))];
}
