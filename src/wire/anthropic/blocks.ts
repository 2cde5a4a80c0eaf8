import type { RawItem } from '../../domain/raw-items.ts';
import { hasBigNumber } from '../call-arguments.ts';
import { isThinking } from '../kept-items.ts';
import { EMPTY_TEXT, isBlank, type SentPart, textPart } from '../sent-parts.ts';
import type { ArrangedItem, WireCall } from '../wire-request.ts';
import type { AnthropicBlock, ImageBlock, ImageMediaType, TextBlock, ToolResultBlock, ToolUseBlock } from './body.ts';

type AssistantItem = Extract<ArrangedItem, { kind: 'assistant' }>;
type ResultItem = Extract<ArrangedItem, { kind: 'result' }>;

/** The provider's own summary of what came before; its text stands in our summary too. */
const COMPACTION = 'compaction';

export function writePart(part: SentPart): TextBlock | ImageBlock {
  switch (part.kind) {
    case 'text':
      return { type: 'text', text: part.text };
    case 'image_url':
      return { type: 'image', source: { type: 'url', url: part.url } };
    case 'image': {
      const media_type = part.mediaType as ImageMediaType; // `sendParts` lets no other through
      return { type: 'image', source: { type: 'base64', media_type, data: part.base64 } };
    }
  }
}

export function writeResult(item: ResultItem): ToolResultBlock {
  const content = (hidesPicture(item) ? item.parts.map(hidePicture) : item.parts).map(writePart);
  return { type: 'tool_result', tool_use_id: item.callId, content, ...(item.isError ? { is_error: true } : {}) };
}

/** A12: of an error the API takes the words alone. */
export function hidesPicture({ parts, isError }: ResultItem): boolean {
  return isError && parts.some(({ kind }) => kind !== 'text');
}

function hidePicture(part: SentPart): SentPart {
  return part.kind === 'text' ? part : textPart('(a picture of the failed call is not shown)');
}

/** An assistant message that is sent as our parts of it. */
export function writeAssistant({ text, calls }: AssistantItem): AnthropicBlock[] {
  return [...(text === '' ? [] : [textBlock(text)]), ...calls.map(writeCall)];
}

export interface OwnBlocks {
  readonly blocks: readonly AnthropicBlock[];
  /** the blocks are the raw items, all of them and untouched */
  readonly isVerbatim: boolean;
}

/**
 * An assistant message that is sent as its provider wrote it: verbatim and in order, but for ids that had to change and for
 * what the API writes and refuses to read: blank texts, thinking that was cut off before it was signed or stands where no turn
 * may have it (A7), a server tool's call without its result (A11), a compaction that does not stand first (A10; the messages
 * before it say the same).
 * Undefined where the items say something else than the message: it was edited since.
 */
export function writeOwnBlocks(item: AssistantItem): OwnBlocks | undefined {
  const { raw = [], calls } = item;
  if (!saysTheSame(raw, item)) return undefined;
  const uses = raw.filter(isToolUse);
  const callOf = new Map(uses.map((use, index) => [use, calls[index] as WireCall]));
  const answered = new Set(raw.map((given) => given.tool_use_id));
  const kept = placeThinking(raw.filter((given) => isReadable(given, answered))).map((given) => {
    const call = callOf.get(given);
    return call === undefined ? given : fitUse(given, call);
  });
  // A message may neither be empty nor end with thinking.
  const blocks = [...kept.map(asBlock), ...(kept.every(isThinking) ? [textBlock(EMPTY_TEXT)] : [])];
  return { blocks, isVerbatim: blocks.length === raw.length && kept.every((given, index) => given === raw[index]) };
}

/**
 * A7: a turn that has thinking begins with it and ends otherwise. A cap that cuts an answer off leaves it last; a server's
 * tool, or a model that speaks first, leaves it in the middle.
 */
function placeThinking(items: readonly RawItem[]): readonly RawItem[] {
  const last = items.findLastIndex((item) => !isThinking(item));
  if (last < 0) return items;
  const kept = items.slice(0, last + 1);
  return isThinking(kept[0] ?? {}) ? kept : kept.filter((item) => !isThinking(item));
}

function saysTheSame(raw: readonly RawItem[], { text, calls }: AssistantItem): boolean {
  const said = joinTextBlocks(raw);
  const isSameText = isBlank(said) ? text === '' || text === EMPTY_TEXT : text === said;
  const inputs = raw.filter(isToolUse).map((use) => JSON.stringify(use.input));
  const areSameCalls =
    inputs.length === calls.length && calls.every((call, index) => rewrite(call.arguments) === inputs[index]);
  return isSameText && areSameCalls;
}

/** As the provider's client read them: big numbers changed. */
function rewrite(given: string): string {
  return JSON.stringify(JSON.parse(given));
}

/** With the id, name and big numbers that are sent; itself where nothing has to change. */
function fitUse(use: RawItem, { id, name, input, arguments: given }: WireCall): RawItem {
  const isSame = use.id === id && use.name === name && !hasBigNumber(given);
  return isSame ? use : { ...use, id, name, input };
}

/** All that the blocks of an answer say, as one text. */
export function joinTextBlocks(items: readonly RawItem[]): string {
  return items.map((item) => (item.type === 'text' && typeof item.text === 'string' ? item.text : '')).join('');
}

export function isToolUse(item: RawItem): boolean {
  return item.type === 'tool_use';
}

/** The provider's compaction, where a summary has it. */
export function findCompactionBlock(raw: readonly RawItem[] = []): AnthropicBlock | undefined {
  const block = raw.findLast((item) => item.type === COMPACTION && item.content !== null);
  return block === undefined ? undefined : asBlock(block);
}

/** @param answered calls that have their result in the same answer */
function isReadable(item: RawItem, answered: ReadonlySet<unknown>): boolean {
  switch (item.type) {
    case 'text':
      return typeof item.text === 'string' && !isBlank(item.text);
    case 'thinking':
      return typeof item.signature === 'string' && item.signature !== '';
    case 'server_tool_use':
    case 'mcp_tool_use':
      return answered.has(item.id);
    default:
      return item.type !== COMPACTION;
  }
}

/** Verbatim: the provider wrote it, and its kind may be none of ours. */
function asBlock(item: RawItem): AnthropicBlock {
  return item as unknown as AnthropicBlock;
}

function textBlock(text: string): TextBlock {
  return { type: 'text', text };
}

function writeCall({ id, name, input }: WireCall): ToolUseBlock {
  return { type: 'tool_use', id, name, input };
}
