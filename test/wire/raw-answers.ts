import type { ToolCall } from '../../src/domain/message.ts';
import type { RawItem, WireFormat } from '../../src/domain/raw-items.ts';

/**
 * Positions in an answer where thinking may be. An output limit, a server tool or a model without interleaved thinking
 * can cause the unusual ones.
 */
export const THINKING_PLACES = [
  'first',
  'last',
  'both ends',
  'between',
  'behind calls',
  'behind a server tool',
] as const;
export type ThinkingPlace = (typeof THINKING_PLACES)[number];

/** An answer of a model, before it is converted to a provider's format. */
export interface RawAnswer {
  readonly text: string;
  readonly calls: readonly ToolCall[];
  readonly hasThinking: boolean;
  /** Position of the thinking in Anthropic's format. Default `first`. Other formats have only one position. */
  readonly place?: ThinkingPlace;
  /** Number that makes the ids of the server unique. */
  readonly index: number;
}

/** Converts an answer to the provider's items, as they are recorded in `RawItems.items`. */
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

function writeBlocks({ text, calls, hasThinking, index, place = 'first' }: RawAnswer): RawItem[] {
  const thought = hasThinking ? [{ type: 'thinking', thinking: `thought ${index}`, signature: `signed${index}=` }] : [];
  const said = writeText(text);
  const uses = calls.map((call) => ({
    type: 'tool_use',
    id: providerId(call),
    name: call.name,
    input: JSON.parse(call.arguments) as unknown,
  }));
  const search = [
    { type: 'server_tool_use', id: `srvtoolu_${index}`, name: 'web_search', input: { query: 'q' } },
    { type: 'web_search_tool_result', tool_use_id: `srvtoolu_${index}`, content: [] },
  ];
  const places: Readonly<Record<ThinkingPlace, RawItem[]>> = {
    first: [...thought, ...said, ...uses],
    last: [...said, ...uses, ...thought],
    'both ends': [...thought, ...said, ...uses, ...thought],
    between: [...said, ...thought, ...uses],
    'behind calls': [...uses, ...thought, ...said],
    'behind a server tool': [...search, ...thought, ...said, ...uses],
  };
  return places[place];
}

function writeText(text: string): RawItem[] {
  return text === '' ? [] : [{ type: 'text', text, citations: null }];
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
