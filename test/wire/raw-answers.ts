import type { ToolCall } from '../../src/domain/message.ts';
import type { RawItem, WireFormat } from '../../src/domain/raw-items.ts';

/** One answer of a model, to be written as its provider would have. */
export interface RawAnswer {
  readonly text: string;
  readonly calls: readonly ToolCall[];
  readonly hasThinking: boolean;
  /** makes the server's ids unique */
  readonly index: number;
}

/** The items of an answer as each provider writes them: what an adapter keeps as `RawItems.items`. */
export function writeRawItems(format: WireFormat, answer: RawAnswer): RawItem[] {
  switch (format) {
    case 'anthropic':
      return writeBlocks(answer);
    case 'openai-chat':
      return writeChatMessage(answer);
    case 'openai-responses':
      return writeOutputItems(answer);
  }
}

function writeBlocks({ text, calls, hasThinking, index }: RawAnswer): RawItem[] {
  return [
    ...(hasThinking ? [{ type: 'thinking', thinking: `thought ${index}`, signature: `signed${index}=` }] : []),
    ...(text === '' ? [] : [{ type: 'text', text, citations: null }]),
    ...calls.map((call) => ({
      type: 'tool_use',
      id: providerId(call),
      name: call.name,
      input: JSON.parse(call.arguments) as unknown,
    })),
  ];
}

function writeChatMessage({ text, calls, hasThinking, index }: RawAnswer): RawItem[] {
  const toolCalls = calls.map((call) => ({
    id: providerId(call),
    type: 'function',
    function: { name: call.name, arguments: call.arguments },
  }));
  return [
    {
      role: 'assistant',
      content: text === '' ? null : text,
      ...(calls.length === 0 ? {} : { tool_calls: toolCalls }),
      ...(hasThinking ? { reasoning_content: `thought ${index}` } : {}),
      refusal: null,
    },
  ];
}

function writeOutputItems({ text, calls, hasThinking, index }: RawAnswer): RawItem[] {
  const output = { type: 'output_text', text, annotations: [], logprobs: [] };
  const reasoning = { id: `rs_${index}`, type: 'reasoning', summary: [], encrypted_content: `sealed${index}=` };
  return [
    ...(hasThinking && (text !== '' || calls.length > 0) ? [reasoning] : []),
    ...(text === ''
      ? []
      : [{ id: `msg_${index}`, type: 'message', role: 'assistant', status: 'completed', content: [output] }]),
    ...calls.map((call, number) => ({
      id: `fc_${index}_${number}`,
      type: 'function_call',
      status: 'completed',
      call_id: providerId(call),
      name: call.name,
      arguments: call.arguments,
    })),
  ];
}

function providerId({ id, providerId: given }: ToolCall): string {
  return given ?? id;
}
