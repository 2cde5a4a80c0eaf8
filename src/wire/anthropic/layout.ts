import { forEachInSlices, type Interruptible } from '../../domain/interruptible.ts';
import { PDF } from '../../domain/parts.ts';
import type { ProviderHabits } from '../../domain/provider-habits.ts';
import { isThinking, type RawItem } from '../../domain/raw-items.ts';
import { hasBigNumber } from '../calls.ts';
import { EMPTY_TEXT, isBlank, isTextOf, type SentPart, textPart } from '../parts.ts';
import { isSigned } from '../raw-items.ts';
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

/** A message of the request while it is built. Adjacent messages of one role are merged (wire rule A3). */
export interface Turn {
  readonly role: AnthropicMessage['role'];
  readonly blocks: AnthropicBlock[];
  readonly origins: Origin[];
}

export interface LaidTurns {
  readonly turns: readonly Turn[];
  readonly withoutThinking: ReadonlySet<Origin>;
}

/** Lays out messages of alternating roles (wire rules A2, A3). Results already follow their calls (wire rule A4). */
export function* layTurns(items: readonly ArrangedItem[], habits: ProviderHabits = {}): Interruptible<LaidTurns> {
  const turns: Turn[] = [];
  const withoutThinking = new Set<Origin>();
  yield* forEachInSlices(items, (item, index) => {
    const { role, blocks: written } = writeItem(item, { isFirst: index === 0, habits });
    const last = turns.at(-1);
    const turn = last?.role === role ? last : { role, blocks: [], origins: [] };
    const blocks = beginsOtherwise(turn) ? written.filter((block) => !isThinking(block)) : written;
    if (item.kind === 'assistant' && item.thoughts > blocks.filter(isThinking).length) withoutThinking.add(item.origin);
    if (turn !== last) turns.push(turn);
    turn.blocks.push(...blocks);
    turn.origins.push(...blocks.map(() => item.origin));
  });
  trimEnd(turns.at(-1));
  return { turns, withoutThinking };
}

/** Wire rule A7: a message must start with its thinking. A message that is merged into another loses its thinking. */
function beginsOtherwise({ role, blocks: [first] }: Turn): boolean {
  return role === 'assistant' && first !== undefined && !isThinking(first);
}

function writeItem(
  item: ArrangedItem,
  { isFirst, habits }: { readonly isFirst: boolean; readonly habits: ProviderHabits },
): Pick<Turn, 'role' | 'blocks'> {
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
function trimEnd(turn: Turn | undefined): void {
  const block = turn?.blocks.at(-1);
  if (turn?.role !== 'assistant' || block?.type !== 'text') return;
  turn.blocks[turn.blocks.length - 1] = { ...block, text: block.text.trimEnd() };
}

/**
 * Wire rule A7: true if the request lacks thinking that the API requires in the current tool loop.
 * - `enabled`: every message with calls must start with thinking.
 * - `adaptive`: the model may call tools without thinking, but none of its thinking may be missing.
 *
 * The loop starts after the last user message without results. User text after results does not end the loop.
 */
export function hasLostThinking(
  { turns, withoutThinking }: LaidTurns,
  thinking: Pick<AnthropicThinking, 'type'>,
): boolean {
  const start = turns.findLastIndex(
    ({ role, blocks }) => role === 'user' && blocks.every(({ type }) => type !== 'tool_result'),
  );
  const loop = turns.slice(start + 1).filter(({ role, blocks }) => role === 'assistant' && hasCall(blocks));
  return loop.some(({ blocks, origins }) => {
    const isMissing = thinking.type === 'enabled' && !isThinking(blocks[0] ?? {});
    return isMissing || origins.some((origin) => withoutThinking.has(origin));
  });
}

function hasCall(blocks: readonly AnthropicBlock[]): boolean {
  return blocks.some(({ type }) => type === 'tool_use');
}

/** Type of a summary by the provider. turnfold's own summary beside it holds the same text. */
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

/** Wire rule A12: the API accepts only text in the result of a failed call. */
function hidePicture(part: SentPart): SentPart {
  return part.kind === 'text' ? part : textPart('(a picture of the failed call is not shown)');
}

function writeAssistant({ text, calls }: ArrangedAssistant): AnthropicBlock[] {
  return [...(text === '' ? [] : [textBlock(text)]), ...calls.map(writeCall)];
}

/**
 * Writes a message as its provider wrote it, verbatim and in order, without blocks that the API would refuse:
 * - blank texts
 * - thinking without a signature or in an illegal place (wire rule A7)
 * - a server tool's call without its result (wire rule A11)
 * - a compaction that is not the first block (wire rule A10): the earlier messages hold the same content
 * @returns undefined if the message has no verbatim blocks, or was edited and no longer matches them
 */
function writeOwnBlocks(item: ArrangedAssistant, habits: ProviderHabits): AnthropicBlock[] | undefined {
  const { raw, calls } = item;
  if (raw === undefined || !saysTheSame(raw, item)) return undefined;
  const uses = raw.filter(isToolUse);
  const callOf = new Map(uses.map((use, index) => [use, calls[index] as WireCall]));
  const answered = new Set(raw.map((given) => given.tool_use_id));
  const kept = placeThinking(raw.filter((given) => isReadable(given, { answered, habits }))).map((given) => {
    const call = callOf.get(given);
    return call === undefined ? given : fitUse(given, call);
  });
  // The API refuses an assistant message that is empty or holds only thinking.
  return [...kept.map(asBlock), ...(kept.every(isThinking) ? [textBlock(EMPTY_TEXT)] : [])];
}

/**
 * Wire rule A7: drops thinking at the end, which an output limit may leave there. If the message does not start with
 * thinking, all its thinking is dropped.
 */
function placeThinking(items: readonly RawItem[]): readonly RawItem[] {
  const last = items.findLastIndex((item) => !isThinking(item));
  if (last < 0) return items;
  const kept = items.slice(0, last + 1);
  return isThinking(kept[0] ?? {}) ? kept : kept.filter((item) => !isThinking(item));
}

function saysTheSame(raw: readonly RawItem[], { text, calls }: ArrangedAssistant): boolean {
  const said = joinTextBlocks(raw);
  const inputs = raw.filter(isToolUse).map((use) => JSON.stringify(use.input));
  const areSameCalls =
    inputs.length === calls.length && calls.every((call, index) => rewrite(call.arguments) === inputs[index]);
  return isTextOf(said, text) && areSameCalls;
}

/** Long numbers lose digits here as in the recorded block, so that the two texts can be compared. */
function rewrite(given: string): string {
  return JSON.stringify(JSON.parse(given));
}

function fitUse(use: RawItem, { id, name, input, arguments: given }: WireCall): RawItem {
  const isSame = use.id === id && use.name === name && !hasBigNumber(given);
  return isSame ? use : { ...use, id, name, input };
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

/** Placeholder for a server that requires thinking in every answer with calls. */
const NOT_RECORDED = { type: 'thinking', thinking: '(not recorded)', signature: '' };

function addThinking(blocks: readonly AnthropicBlock[]): AnthropicBlock[] {
  return hasCall(blocks) && !blocks.some(isThinking) ? [asBlock(NOT_RECORDED), ...blocks] : [...blocks];
}

/** The cast is safe, because the provider accepts its own block types. */
function asBlock(item: RawItem): AnthropicBlock {
  return item as unknown as AnthropicBlock;
}

function textBlock(text: string): TextBlock {
  return { type: 'text', text };
}

function writeCall({ id, name, input }: WireCall): ToolUseBlock {
  return { type: 'tool_use', id, name, input };
}
