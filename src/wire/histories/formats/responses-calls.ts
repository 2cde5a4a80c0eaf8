import { isMapping } from '../../../domain/parse.ts';
import { readContents, writeArguments } from '../blocks.ts';
import type { ReadResult } from '../message-draft.ts';
import { type Block, toText } from '../values.ts';

interface ItemCall {
  readonly name: string;
  readonly arguments: string;
  readonly result?: ReadResult;
}

const OWN: ReadonlySet<string> = new Set(
  (
    'type id call_id status name output outputs results result error created_by pending_safety_checks ' +
    'environment caller agent execution fingerprint namespace server_label approval_request_id metadata ' +
    'internal_chat_message_metadata_passthrough'
  ).split(' '),
);

/** By type of call: the field with the result. Items of these types have both the call and the result. */
const RESULT_FIELDS: ReadonlyMap<string, string> = new Map([
  ['mcp_call', 'output'],
  ['web_search_call', 'results'],
  ['file_search_call', 'results'],
  ['code_interpreter_call', 'outputs'],
  ['image_generation_call', 'result'],
]);

export function isCallItem(type: string): boolean {
  return type.endsWith('_call') || type === 'program';
}

export function isOpenCall(type: string): boolean {
  return isCallItem(type) && RESULT_FIELDS.get(type) === undefined;
}

export function isResultItem(type: string): boolean {
  return type.endsWith('_call_output') || type === 'tool_search_output' || type === 'program_output';
}

/** A provider's tool is named after its item: `local_shell` for `local_shell_call`. */
export function readItemCall(type: string, item: Block): ItemCall {
  const name = nameTool(type, item);
  const field = RESULT_FIELDS.get(type);
  const call = { name, arguments: readArguments(type, item) };
  return field === undefined ? call : { ...call, result: readOwnResult(type, item, field) };
}

function nameTool(type: string, { name, server_label: server, namespace }: Block): string {
  if (typeof name !== 'string' || name === '') return type.replace(/_call$/, '');
  const owner = type === 'mcp_call' ? server : namespace;
  return typeof owner === 'string' && owner !== '' ? `${owner}.${name}` : name;
}

function readArguments(type: string, item: Block): string {
  if (type === 'function_call' || type === 'mcp_call') return writeArguments(item['arguments']);
  if (type === 'custom_tool_call') return JSON.stringify({ input: item['input'] });
  const given = Object.fromEntries(
    Object.entries(item).filter(([key, value]) => !OWN.has(key) && value !== null && !key.startsWith('_')),
  );
  // A single field has all arguments, such as `action` of a shell, a computer or a search.
  const keys = Object.keys(given);
  const [only = ''] = keys;
  const inner = keys.length === 1 ? given[only] : undefined;
  return JSON.stringify(isMapping(inner) ? dropExec(inner) : given);
}

function dropExec({ type, ...action }: Block): Block {
  return type === undefined || type === 'exec' ? action : { type, ...action };
}

function readOwnResult(type: string, item: Block, field: string): NonNullable<ItemCall['result']> {
  const { status, error } = item;
  if (error !== undefined && error !== null) return { content: toText(error), isError: true };
  const value = item[field];
  if (value === undefined || value === null) {
    const text = `status: ${toText(status) || 'unknown'}. The item of the provider has no result`;
    return { content: text, isError: status === 'failed' };
  }
  if (type !== 'image_generation_call') return readContents(value);
  const image = { type: 'input_image', image_url: `data:image/png;base64,${toText(value)}` };
  return { content: '', parts: [image] };
}

/** Reads the result of a call. A shell returns a list of outputs, a computer returns a screenshot. */
export function readItemOutput(item: Block): ReadResult {
  const output = item['output'] ?? item['tools'] ?? item['result'];
  const isError = item['status'] === 'failed' || (isMapping(output) && output['success'] === false);
  if (!isMapping(output)) return { ...readContents(nameInputs(output)), isError };
  if (output['type'] === 'computer_screenshot') return { content: '', parts: [screenshotPart(output)], isError };
  // Old versions of Codex write an object with the text in `content` and a boolean in `success`.
  const { content, success } = output;
  return { ...readContents(content !== undefined && success !== undefined ? content : output), isError };
}

function nameInputs(output: unknown): unknown {
  return Array.isArray(output) ? output.map(nameInput) : output;
}

function nameInput(part: unknown): unknown {
  if (!isMapping(part)) return part;
  switch (part['type']) {
    case 'input_text':
    case 'output_text':
      return { type: 'text', text: part['text'] };
    case 'input_image':
      return { type: 'image_url', image_url: { url: part['image_url'] ?? part['file_id'] } };
    case 'input_file':
      return { ...part, type: 'file' };
    default:
      return part;
  }
}

function screenshotPart({ image_url: url, file_id: file }: Block): Block {
  return { type: 'input_image', ...(url !== undefined ? { image_url: url } : { file_id: file }) };
}
