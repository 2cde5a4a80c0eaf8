import { fieldError } from '../../../domain/errors.ts';
import { isMapping } from '../../../domain/parse.ts';
import { type Block, textOf } from '../blocks.ts';
import type { ForeignMessages } from './foreign-messages.ts';

/**
 * Reads the parts of a content of Gemini as messages of Anthropic's form.
 * @throws invalid_input with the path of a part that is not known
 */
export function readGeminiParts(role: string, parts: unknown, at: string): unknown[] {
  const list: readonly unknown[] = Array.isArray(parts) ? parts : [typeof parts === 'string' ? { text: parts } : parts];
  const content = list.map((part, index) => readPart(part, `${at}.parts[${index}]`));
  const results = content.filter(({ role: own }) => own === 'tool');
  const said = content.filter(({ role: own }) => own === undefined);
  return [
    ...results,
    ...(said.length > 0 || results.length === 0
      ? [{ role: role === 'model' ? 'assistant' : role, content: said }]
      : []),
  ];
}

/** Adds the messages of one place. */
export function addAll(read: readonly unknown[], at: string, messages: ForeignMessages): void {
  for (const message of read) messages.add(message, at);
}

function readPart(given: unknown, at: string): Block {
  if (typeof given === 'string') return { type: 'text', text: given };
  if (!isMapping(given)) throw fieldError('invalid_input', at, 'expected a part with a text, a call or data');
  const { text, thought, functionCall, functionResponse, inlineData, fileData, executableCode, codeExecutionResult } =
    given;
  if (isMapping(functionCall))
    return { type: 'tool_use', id: functionCall['id'], name: functionCall['name'], input: functionCall['args'] };
  if (isMapping(functionResponse)) return readResponse(functionResponse);
  if (isMapping(executableCode)) return { type: 'text', text: textOf(executableCode['code']) };
  if (isMapping(codeExecutionResult)) return { type: 'text', text: textOf(codeExecutionResult['output']) };
  if (thought === true) return { type: 'thinking', thinking: textOf(text) };
  if (isMapping(inlineData)) {
    const { mimeType, data } = inlineData;
    const type = textOf(mimeType).startsWith('image/') ? 'image' : 'document';
    return { type, source: { type: 'base64', media_type: mimeType, data } };
  }
  if (isMapping(fileData)) return { type: 'document', source: { type: 'url', url: fileData['fileUri'] } };
  if (typeof text === 'string') return { type: 'text', text };
  throw fieldError('invalid_input', at, `parts with ${Object.keys(given).join(', ') || 'no key'} are not known`);
}

/** A result has the name of its tool, and an id only in newer files. */
function readResponse({ id, name, response }: Block): Block {
  const { output, error } = isMapping(response) ? response : { output: response };
  const only = isMapping(response) && Object.keys(response).length === 1;
  const content = only && output !== undefined ? output : only && error !== undefined ? error : response;
  return {
    role: 'tool',
    content: textOf(content),
    ...(typeof id === 'string' ? { tool_call_id: id } : { name }),
    ...(only && error !== undefined && { is_error: true }),
  };
}
