import { forEachInSlices, type Interruptible } from '../../domain/interruptible.ts';
import { PDF } from '../../domain/parts.ts';
import type { ProviderHabits } from '../../domain/provider-habits.ts';
import { isThinking, type RawItem } from '../../domain/raw-items.ts';
import { EMPTY_TEXT, hidePicture, isBlank, type SentPart } from '../parts.ts';
import { isSigned, isUnedited } from '../raw-items.ts';
import type { ArrangedAssistant, ArrangedItem, ArrangedResult, Origin, WireCall } from '../wire-request.ts';
import type {
  AnthropicBlock,
  AnthropicMessage,
  AnthropicThinking,
  DocumentBlock,
  ImageBlock,
  ImageMediaType,
  TextBlock,
  ToolResultBlock,
  ToolUseBlock,
} from './body.ts';

/** A message of the request while it is built. Neighbours of one role are merged (wire rule A3). */
export interface DraftMessage {
  readonly role: AnthropicMessage['role'];
  readonly blocks: AnthropicBlock[];
  readonly origins: Origin[];
}

export interface DraftRequest {
  readonly messages: readonly DraftMessage[];
  readonly withoutThinking: ReadonlySet<Origin>;
}

/** Makes messages of alternating roles (wire rules A2, A3). Tool results already follow their calls. */
export function* draftMessages(
  items: readonly ArrangedItem[],
  habits: ProviderHabits = {},
): Interruptible<DraftRequest> {
  const messages: DraftMessage[] = [];
  const withoutThinking = new Set<Origin>();
  yield* forEachInSlices(items, (item, index) => {
    const { role, blocks: written } = writeItem(item, { isFirst: index === 0, habits });
    const last = messages.at(-1);
    const message = last?.role === role ? last : { role, blocks: [], origins: [] };
    const blocks = beginsOtherwise(message) ? written.filter((block) => !isThinking(block)) : written;
    if (item.kind === 'assistant' && item.thoughts > blocks.filter(isThinking).length) withoutThinking.add(item.origin);
    if (message !== last) messages.push(message);
    message.blocks.push(...blocks);
    message.origins.push(...blocks.map(() => item.origin));
  });
  trimEnd(messages.at(-1));
  return { messages, withoutThinking };
}

/** Wire rule A7: a message starts with its thinking. A message that is merged into another one loses its thinking. */
function beginsOtherwise({ role, blocks: [first] }: DraftMessage): boolean {
  return role === 'assistant' && first !== undefined && !isThinking(first);
}

function writeItem(
  item: ArrangedItem,
  { isFirst, habits }: { readonly isFirst: boolean; readonly habits: ProviderHabits },
): Pick<DraftMessage, 'role' | 'blocks'> {
  switch (item.kind) {
    case 'assistant': {
      const blocks = writeOwnBlocks(item, habits) ?? writeAssistant(item);
      return { role: 'assistant', blocks: habits.needsReasoning === true ? addThinking(blocks) : blocks };
    }
    case 'result':
      return { role: 'user', blocks: [writeResult(item)] };
    case 'system':
      return { role: 'system', blocks: [textBlock(item.text)] };
    case 'user': {
      // Wire rule A10: the API accepts its compaction only as the first block, in an assistant message.
      const compaction = isFirst ? findCompactionBlock(item.raw) : undefined;
      return compaction === undefined
        ? { role: 'user', blocks: item.parts.map(writePart) }
        : { role: 'assistant', blocks: [compaction] };
    }
  }
}

/** Wire rule A6: the API refuses white space at the end, because the model would continue the text. */
function trimEnd(message: DraftMessage | undefined): void {
  const block = message?.blocks.at(-1);
  if (message?.role !== 'assistant' || block?.type !== 'text') return;
  message.blocks[message.blocks.length - 1] = { ...block, text: block.text.trimEnd() };
}

/**
 * Wire rule A7: true if the request lacks thinking that the API requires in the current tool loop.
 * - `enabled`: every message with calls must start with thinking.
 * - `adaptive`: a model may call tools without thinking, but none of its thinking may be missing.
 * The loop starts after the last user message without tool results. User text after results does not end the loop.
 */
export function hasLostThinking(
  { messages, withoutThinking }: DraftRequest,
  thinking: Pick<AnthropicThinking, 'type'>,
): boolean {
  const start = messages.findLastIndex(
    ({ role, blocks }) => role === 'user' && blocks.every(({ type }) => type !== 'tool_result'),
  );
  const loop = messages.slice(start + 1).filter(({ role, blocks }) => role === 'assistant' && hasCall(blocks));
  return loop.some(({ blocks, origins }) => {
    const isMissing = thinking.type === 'enabled' && !isThinking(blocks[0] ?? {});
    return isMissing || origins.some((origin) => withoutThinking.has(origin));
  });
}

function hasCall(blocks: readonly AnthropicBlock[]): boolean {
  return blocks.some(({ type }) => type === 'tool_use');
}

/** Type of the block with a summary by the provider. turnfold's own summary of these messages has the same content. */
const COMPACTION = 'compaction';

function writePart(part: SentPart): TextBlock | ImageBlock | DocumentBlock {
  switch (part.kind) {
    case 'text':
      return { type: 'text', text: part.text };
    case 'image_url':
      return { type: 'image', source: { type: 'url', url: part.url } };
    case 'image': {
      const media_type = part.mediaType as ImageMediaType;
      return { type: 'image', source: { type: 'base64', media_type, data: part.base64 } };
    }
    case 'file': {
      const source = { type: 'base64', media_type: PDF, data: part.base64 } as const;
      return { type: 'document', source, ...titleOf(part.name) };
    }
    case 'file_url':
      return { type: 'document', source: { type: 'url', url: part.url }, ...titleOf(part.name) };
  }
}

function titleOf(title: string | undefined): { readonly title?: string } {
  return title === undefined ? {} : { title };
}

function writeResult(item: ArrangedResult): ToolResultBlock {
  const content = (item.isError ? item.parts.map(hidePicture) : item.parts).map(writePart);
  return { type: 'tool_result', tool_use_id: item.callId, content, ...(item.isError ? { is_error: true } : {}) };
}

function writeAssistant({ text, calls }: ArrangedAssistant): AnthropicBlock[] {
  return [...(text === '' ? [] : [textBlock(text)]), ...calls.map(writeCall)];
}

/**
 * Writes a message as its provider wrote it, in order. Blocks that the API would refuse are left out: blank texts,
 * misplaced or unsigned thinking (A7), server tools' calls without results (A11), later compactions (A10).
 * @returns undefined if the message has no verbatim blocks, or was edited
 */
function writeOwnBlocks(item: ArrangedAssistant, habits: ProviderHabits): AnthropicBlock[] | undefined {
  const { raw, calls } = item;
  if (raw === undefined || !saysTheSame(raw, item)) return undefined;
  const uses = raw.filter(isToolUse);
  const callOf = new Map(uses.map((use, index) => [use, calls[index] as WireCall]));
  const answered = new Set(raw.map((given) => given.tool_use_id));
  const kept = placeThinking(raw.filter((given) => isReadable(given, { answered, habits }))).map((given) => {
    const { id, name, input } = callOf.get(given) ?? {};
    return id === undefined ? given : { ...given, id, name, input };
  });
  // The API refuses an assistant message that is empty or has only thinking.
  return [...kept.map(asBlock), ...(kept.every(isThinking) ? [textBlock(EMPTY_TEXT)] : [])];
}

/**
 * Wire rule A7: drops thinking at the end, where an output limit may leave it. Drops all if the message starts
 * otherwise.
 */
function placeThinking(items: readonly RawItem[]): readonly RawItem[] {
  const last = items.findLastIndex((item) => !isThinking(item));
  if (last < 0) return items;
  const kept = items.slice(0, last + 1);
  return isThinking(kept[0] ?? {}) ? kept : kept.filter((item) => !isThinking(item));
}

function saysTheSame(raw: readonly RawItem[], { text, calls }: ArrangedAssistant): boolean {
  const inputs = raw.filter(isToolUse).map((use) => JSON.stringify(use.input));
  // The arguments are parsed, so that their long numbers lose the same digits as in the recorded block.
  const parsed = calls.map((call) => ({ arguments: JSON.stringify(JSON.parse(call.arguments)) }));
  return isUnedited({ text, calls: parsed }, joinTextBlocks(raw), inputs);
}

export function joinTextBlocks(items: readonly RawItem[]): string {
  return items.map((item) => (item.type === 'text' && typeof item.text === 'string' ? item.text : '')).join('');
}

export function isToolUse(item: RawItem): boolean {
  return item.type === 'tool_use';
}

function findCompactionBlock(raw: readonly RawItem[] = []): AnthropicBlock | undefined {
  const block = raw.findLast((item) => item.type === COMPACTION && item.content !== null);
  return block === undefined ? undefined : asBlock(block);
}

function isReadable(
  item: RawItem,
  { answered, habits }: { readonly answered: ReadonlySet<unknown>; readonly habits: ProviderHabits },
): boolean {
  switch (item.type) {
    case 'text':
      return typeof item.text === 'string' && !isBlank(item.text);
    case 'thinking':
      return isSigned(item) || habits.isThinkingUnsigned === true;
    case 'server_tool_use':
    case 'mcp_tool_use':
      return answered.has(item.id);
    default:
      return item.type !== COMPACTION;
  }
}

/** Placeholder for a server that requires thinking in every answer with tool calls. */
const NOT_RECORDED = { type: 'thinking', thinking: '(not recorded)', signature: '' };

function addThinking(blocks: readonly AnthropicBlock[]): AnthropicBlock[] {
  return hasCall(blocks) && !blocks.some(isThinking) ? [asBlock(NOT_RECORDED), ...blocks] : [...blocks];
}

function asBlock(item: RawItem): AnthropicBlock {
  return item as unknown as AnthropicBlock;
}

function textBlock(text: string): TextBlock {
  return { type: 'text', text };
}

function writeCall({ id, name, input }: WireCall): ToolUseBlock {
  return { type: 'tool_use', id, name, input };
}
