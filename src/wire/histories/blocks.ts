import { fieldError } from '../../domain/errors.ts';
import { readJsonText } from '../../domain/json-text.ts';
import { isMapping } from '../../domain/parse.ts';
import { joinPartTexts } from '../../domain/parts.ts';
import { clipText } from '../../domain/thrown.ts';
import type { MessageDraft, ReadResult } from './message-draft.ts';
import type { HistoryNotes } from './notes.ts';
import { openDocument, readCitations } from './sources.ts';
import { type Block, blockOf, firstOf, idOf, toText } from './values.ts';

interface BlockTarget {
  readonly draft: MessageDraft;
  readonly notes: HistoryNotes;
  readonly at: string;
}

type BlockReader = (block: Block, target: BlockTarget) => void;

/** Readers by type of block, for Anthropic, OpenAI Chat and Responses, the AI SDK from version 4 on, and LangChain. */
const READERS: ReadonlyMap<string, BlockReader> = new Map(
  Object.entries<BlockReader>({
    text: readText,
    input_text: readText,
    output_text: readText,
    'text-plain': readText,
    refusal: ({ refusal, text }, { draft }) => draft.addText(toText(refusal ?? text)),
    search_result: readSearchResult,
    compaction: ({ content }, { draft, notes, at }) => {
      notes.add('mapped', at, 'a summary of the provider is kept as a text');
      draft.addText(toText(content));
    },

    thinking: readReasoning,
    redacted_thinking: readReasoning,
    reasoning: readReasoning,
    reasoning_content: readReasoning,

    image: readMedia,
    image_url: readMedia,
    input_image: readMedia,
    file: readMedia,
    input_file: readMedia,
    document: readDocument,
    media: readMedia,
    video: readMedia,
    video_url: readMedia,
    audio: readMedia,
    input_audio: readMedia,
    output_audio: readMedia,

    tool_use: readToolUse,
    server_tool_use: readToolUse,
    mcp_tool_use: readToolUse,
    tool_result: readToolResult,
    mcp_tool_result: readToolResult,
    tool_call: readToolCall,
    server_tool_call: readToolCall,
    invalid_tool_call: readToolCall,
    server_tool_result: ({ tool_call_id: id, status, output }, { draft }) =>
      draft.addResult({ id: idOf(id), isError: status === 'error', ...readContents(output) }),

    'tool-call': ({ toolCallId, toolName, input, args }, { draft }) =>
      draft.addCall({ id: idOf(toolCallId), name: toText(toolName), arguments: writeArguments(input ?? args) }),
    'tool-result': readAiSdkResult,
    'tool-invocation': ({ toolInvocation }, target) => {
      if (isMapping(toolInvocation)) readInvocation(toolInvocation, target);
    },
    'dynamic-tool': readUiTool,
    'step-start': (_block, { draft }) => draft.endStep(),
  }),
);

const TYPE_CHARACTERS = 80;

const LEFT_OUT: ReadonlySet<string> = new Set([
  'source',
  'source-url',
  'source-document',
  'tool-approval-request',
  'tool-approval-response',
  'container_upload',
  'fallback',
  'compaction_trigger',
]);

/** @throws invalid_input with the path, for a block of an unknown type */
export function readBlock(given: unknown, target: BlockTarget): void {
  const { at, notes } = target;
  if (typeof given === 'string') return target.draft.addText(given);
  if (!isMapping(given)) throw fieldError('invalid_input', at, 'expected a content part with a type');
  const type = toText(given['type']);
  const reader = READERS.get(type) ?? findReader(type);
  if (reader !== undefined) return reader(given, target);
  if (LEFT_OUT.has(type) || type.startsWith('data-')) {
    return notes.add('left_out', at, `a part of type ${clipText(type, TYPE_CHARACTERS)} has no content for a model`);
  }
  if (type === '' && typeof given['text'] === 'string') return readText(given, target);
  const named = type === '' ? 'the part has no type' : `parts of type ${clipText(type, TYPE_CHARACTERS)} are not known`;
  throw fieldError('invalid_input', `${at}.type`, `${named}. Remove the part, or name the format of the history`);
}

function findReader(type: string): BlockReader | undefined {
  if (type.endsWith('_tool_result')) return readToolResult;
  return type.startsWith('tool-') && !LEFT_OUT.has(type) ? readUiTool : undefined;
}

/** True if one of the blocks is a tool call or a result. */
export function holdsCallBlock(blocks: readonly unknown[]): boolean {
  return blocks.some(
    (block) =>
      isMapping(block) && /^(?:tool[-_]|server_tool|mcp_tool|dynamic-tool)|_tool_result$/.test(toText(block['type'])),
  );
}

function readText(block: Block, { draft, notes, at }: BlockTarget): void {
  const text = textIn(block);
  if (text === undefined) throw fieldError('invalid_input', `${at}.text`, 'expected a string');
  draft.addText(text, block['type'] === 'text' && block['text'] === text ? block : undefined);
  for (const field of ['citations', 'annotations']) readCitations(block[field], { draft, notes, at: `${at}.${field}` });
}

function readSearchResult({ title, source, content }: Block, { draft }: BlockTarget): void {
  const texts = readContents(content).content;
  draft.addText([title, source, texts].filter((text) => typeof text === 'string' && text !== '').join('\n'));
}

/** Fine-tuning files have the text in `value`. An aborted answer may have null instead of a text. */
function textIn({ text, value, data }: Block): string | undefined {
  const given = [text, value, data].find((one) => typeof one === 'string');
  return given ?? (text === null ? '' : undefined);
}

function readToolCall(block: Block, { draft, at }: BlockTarget): void {
  const { id, name, args, arguments: given } = block;
  const calls = name === undefined ? readCallText(block['value'], `${at}.value`) : [{ name, arguments: args ?? given }];
  for (const call of calls)
    draft.addCall({ id: idOf(id), name: toText(call['name']), arguments: writeArguments(call['arguments']) });
}

/** Reads a call of a fine-tuning file: JSON with a name and arguments, or a list of them. */
export function readCallText(text: unknown, at: string): readonly Block[] {
  const read: unknown = typeof text === 'string' ? readJsonText(text) : text;
  const calls = Array.isArray(read) ? read : [read];
  if (calls.every((call): call is Block => isMapping(call) && typeof call['name'] === 'string')) return calls;
  throw fieldError('invalid_input', at, 'expected a call as JSON, with a name and arguments');
}

function readReasoning(block: Block, { draft }: BlockTarget): void {
  draft.addReasoning({ ...block });
}

function readDocument(block: Block, target: BlockTarget): void {
  for (const inner of openDocument(block)) (inner['type'] === 'text' ? readText : readMedia)(inner, target);
}

function readMedia(block: Block, { draft }: BlockTarget): void {
  const transcript = block['transcript'];
  if (typeof transcript === 'string') draft.addText(transcript);
  draft.addPart(ownMedia(block) ?? block);
}

const OWN_MEDIA: ReadonlySet<unknown> = new Set(['image', 'file', 'media']);

/**
 * Returns media of the AI SDK or LangChain in turnfold's own form. The data of the AI SDK may be an address.
 * @returns undefined for forms that requests can hold as they are
 */
function ownMedia(block: Block): Block | undefined {
  const { type } = block;
  const given = firstOf(block, 'image', 'data', 'base64', 'url');
  if (!OWN_MEDIA.has(type) || typeof given !== 'string') return undefined;
  const mediaType = firstOf(block, 'mediaType', 'mimeType', 'mime_type');
  const name = firstOf(block, 'filename', 'name');
  const isImage = type === 'image' || toText(mediaType).startsWith('image/');
  return {
    type: isImage ? 'image' : 'file',
    ...(/^(?:https?|data):/i.test(given) ? { url: given } : { data: given }),
    ...(typeof mediaType === 'string' && { mediaType }),
    ...(typeof name === 'string' && { name }),
  };
}

function readToolUse({ id, name, input, server_name: server }: Block, { draft }: BlockTarget): void {
  const called = typeof server === 'string' ? `${server}.${toText(name)}` : toText(name);
  draft.addCall({ id: idOf(id), name: called, arguments: writeArguments(input) });
}

function readToolResult({ tool_use_id: id, content, is_error: isError }: Block, { draft }: BlockTarget): void {
  draft.addResult({ id: idOf(id), isError: isError === true, ...readContents(content) });
}

/** Reads a result of the AI SDK. Version 4 has `result`, later versions a typed `output`. */
function readAiSdkResult(block: Block, { draft }: BlockTarget): void {
  const { toolCallId, toolName, output, result, isError } = block;
  const typed = isMapping(output) && typeof output['type'] === 'string' ? output : undefined;
  const isFailed = isError === true || toText(typed?.['type']).startsWith('error');
  const value = typed === undefined ? (output ?? result) : (typed['value'] ?? typed['reason'] ?? typed['type']);
  draft.addResult({ id: idOf(toolCallId), name: toText(toolName), isError: isFailed, ...readContents(value) });
}

/** Reads a part of an AI SDK 4 `UIMessage`, which has a tool call together with its result. */
export function readInvocation(invocation: Block, { draft }: Pick<BlockTarget, 'draft'>): void {
  const { toolCallId, toolName, args, state, result } = invocation;
  const id = idOf(toolCallId);
  draft.addCall({ id, name: toText(toolName), arguments: writeArguments(args) });
  if (state === 'result') draft.addResult({ id, ...readContents(result) });
}

function readUiTool(block: Block, { draft }: BlockTarget): void {
  const { type, toolName, toolCallId, state, input, rawInput, output, errorText, approval } = block;
  const id = idOf(toolCallId);
  const name = typeof toolName === 'string' ? toolName : toText(type).slice('tool-'.length);
  draft.addCall({ id, name, arguments: writeArguments(input ?? rawInput) });
  if (state === 'output-available') draft.addResult({ id, ...readContents(output) });
  if (state === 'output-error') draft.addResult({ id, isError: true, content: toText(errorText) });
  const { approved, reason }: Block = blockOf(approval);
  if (state === 'output-denied' || (state === 'approval-responded' && approved === false)) {
    const why = toText(reason);
    draft.addResult({ id, isError: true, content: `The call was denied${why === '' ? '.' : `: ${why}`}` });
  }
}

export function readContents(value: unknown): Pick<ReadResult, 'content' | 'parts'> {
  if (value === undefined || value === null) return { content: '' };
  if (typeof value === 'string') return { content: value };
  if (!Array.isArray(value) || !value.every(isReadableBlock)) return { content: JSON.stringify(dropEncrypted(value)) };
  const blocks = (value as readonly Block[]).flatMap(openDocument);
  const content = joinPartTexts(blocks.map((block) => textIn(block) ?? ''));
  return blocks.some(({ type }) => type !== 'text') ? { content, parts: blocks } : { content };
}

const RESULT_BLOCKS: ReadonlySet<unknown> = new Set(['text', 'image', 'image_url', 'document', 'file', 'media']);

function isReadableBlock(block: unknown): boolean {
  return (
    isMapping(block) && RESULT_BLOCKS.has(block['type']) && (block['type'] !== 'text' || textIn(block) !== undefined)
  );
}

/** Drops encrypted search results, which only their provider can read. */
function dropEncrypted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(dropEncrypted);
  if (!isMapping(value)) return value;
  const kept = Object.entries(value).filter(([name]) => !name.startsWith('encrypted_'));
  return Object.fromEntries(kept.map(([name, member]) => [name, dropEncrypted(member)]));
}

export function writeArguments(given: unknown): string {
  if (given === undefined || given === null || given === '') return '{}';
  if (typeof given === 'string') return given;
  return JSON.stringify(isMapping(given) ? given : { input: given });
}
