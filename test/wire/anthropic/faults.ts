import type { AnthropicBlock, AnthropicBody, AnthropicMessage } from '../../../src/wire/anthropic/body.ts';

/** Faults that the API would refuse in a body, written from its documentation and independent of the validators. */
export function findFaults(body: AnthropicBody): string[] {
  const { messages } = body;
  const text = JSON.stringify(body);
  return [
    ...(/(?<!\\)(?:\\\\)*\\ud[89a-f]/i.test(text) ? ['X8: lone surrogate'] : []),
    ...(messages[0]?.role === 'user' ? [] : ['A2: the first is no user message']),
    ...(messages.at(-1)?.role === 'user' ? [] : ['X4: the last is no user message']),
    ...messages.flatMap((message, index) => [
      ...(message.content.length === 0 ? [`X3: ${index} is empty`] : []),
      ...(message.role === messages[index - 1]?.role ? [`A3: ${index} has its neighbour's role`] : []),
      ...findUnpaired(message, messages[index + 1]).map((fault) => `${fault} at ${index}`),
      ...message.content.flatMap((block) => findBlockFaults(block).map((fault) => `${fault} at ${index}`)),
    ]),
    ...findRepeated(messages.flatMap(({ content }) => content.flatMap(callId))),
    ...findUnnamed(body),
    ...findThinkingFaults(body),
    ...findMarkFaults(body),
  ];
}

function findUnpaired({ role, content }: AnthropicMessage, next: AnthropicMessage | undefined): string[] {
  if (role === 'user') return [];
  const calls = content.flatMap(callId);
  const following = next?.content ?? [];
  const head = following.slice(0, calls.length).flatMap(resultId);
  const isPaired = calls.toSorted().join() === head.toSorted().join();
  const hasMore = following.slice(calls.length).some(({ type }) => type === 'tool_result');
  return isPaired && !hasMore ? [] : ['A4: calls and results'];
}

function findBlockFaults(block: AnthropicBlock): string[] {
  switch (block.type) {
    case 'text':
      return block.text.trim() === '' ? ['A6: blank text'] : [];
    case 'tool_use':
      return [
        ...(/^[a-zA-Z0-9_-]{1,64}$/.test(block.id) ? [] : [`A5: id ${block.id}`]),
        ...(Array.isArray(block.input) || typeof block.input !== 'object' ? ['X7: input'] : []),
      ];
    case 'tool_result':
      return block.content.length === 0 ? ['X3: empty result'] : block.content.flatMap(findBlockFaults);
    case 'image': {
      const { source } = block;
      return source.type === 'url' || /^image\/(?:png|jpeg|gif|webp)$/.test(source.media_type) ? [] : ['media type'];
    }
    default:
      return [];
  }
}

function findRepeated(ids: readonly string[]): string[] {
  return new Set(ids).size === ids.length ? [] : ['A5: an id stands twice'];
}

function findUnnamed({ messages, tools = [] }: AnthropicBody): string[] {
  const names = new Set(tools.map(({ name }) => name));
  // A name invented in the current loop waits for its stub, which would stand before the loop's thinking.
  const earlier = tools.length === 0 ? messages : messages.slice(0, 1 + messages.findLastIndex(isOwn));
  const used = earlier.flatMap(({ content }) => content.flatMap((block) => (block.type === 'tool_use' ? [block] : [])));
  return used.filter(({ name }) => !names.has(name)).map(({ name }) => `X6: ${name}`);
}

function findThinkingFaults({ thinking, messages }: AnthropicBody): string[] {
  const faults = messages.flatMap(({ role, content }, index) => {
    const kinds = content.map(({ type }) => type);
    const isLastThinking = role === 'assistant' && kinds.at(-1) === 'thinking';
    return isLastThinking ? [`thinking ends ${index}`] : [];
  });
  if (thinking === undefined) return faults;
  const loop = messages.slice(messages.findLastIndex(isOwn) + 1);
  const lost = loop.filter(({ content }) => content.flatMap(callId).length > 0 && content[0]?.type !== 'thinking');
  return [...faults, ...lost.map(() => 'A7: the loop has lost its thinking')];
}

function isOwn({ role, content }: AnthropicMessage): boolean {
  return role === 'user' && content.flatMap(resultId).length === 0;
}

function findMarkFaults({ system = [], tools = [], messages }: AnthropicBody): string[] {
  const blocks = [...tools, ...system, ...messages.flatMap(({ content }) => content)];
  const marked = blocks.filter((block) => 'cache_control' in block);
  const onThinking = marked.filter((block) => 'type' in block && block.type === 'thinking');
  return [...(marked.length > 4 ? ['A9: too many marks'] : []), ...onThinking.map(() => 'A9: a mark on thinking')];
}

function callId(block: AnthropicBlock): string[] {
  return block.type === 'tool_use' ? [block.id] : [];
}

function resultId(block: AnthropicBlock): string[] {
  return block.type === 'tool_result' ? [block.tool_use_id] : [];
}
