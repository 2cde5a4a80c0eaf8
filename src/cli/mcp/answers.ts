import type { CallToolResult } from '@modelcontextprotocol/server';
import { HttpProblem } from '../../api/http/problem.ts';
import { isTurnfoldError } from '../../domain/errors.ts';
import type { Message } from '../../domain/message.ts';
import { readParts } from '../../domain/parts.ts';
import { clipMiddle, fitJson } from './fit-json.ts';

/** Characters of a result. A coding agent refuses more, or loses the rest of its context to it. */
export const MOST_CHARACTERS = 60_000;
const MESSAGE_CHARACTERS = 4_000;
const NAME_CHARACTERS = 200;

export function writeTextResult(text: string): CallToolResult {
  return { content: [{ type: 'text', text: clipMiddle(text, MOST_CHARACTERS) }] };
}

export function writeJsonResult(value: unknown): CallToolResult {
  return { content: [{ type: 'text', text: fitJson(value, MOST_CHARACTERS) }] };
}

/** Errors of turnfold say what to do next, so the model reads them. Any other error is a defect of this program. */
export async function answerErrors(answer: () => Promise<CallToolResult>): Promise<CallToolResult> {
  try {
    return await answer();
  } catch (error) {
    if (!(isTurnfoldError(error) || error instanceof HttpProblem)) throw error;
    return { ...writeTextResult(`${error.code}: ${error.message}`), isError: true };
  }
}

/** Reads a page again with half of its entries until it fits into a result, so that its cursor stays right. */
export async function readFittingPage(limit: number, read: (limit: number) => Promise<unknown>): Promise<unknown> {
  for (let most = limit; ; most = Math.floor(most / 2)) {
    const page = await read(most);
    if (most <= 1 || JSON.stringify(page).length <= MOST_CHARACTERS) return page;
  }
}

/** Shows a message of the log or of a context. Images, files and provider items are named, not sent. */
export function showMessage(message: Message): object {
  const { role, content, toolCalls, toolCallId, isError } = message;
  const attachments = readParts(message).flatMap((part) => {
    if (part.kind === 'text') return [];
    const type = 'mediaType' in part ? part.mediaType : part.kind === 'other' ? part.type : 'image';
    const name = 'name' in part ? part.name : 'url' in part ? part.url : undefined;
    return [name === undefined ? type : `${type} ${clipMiddle(name, NAME_CHARACTERS)}`];
  });
  return {
    role,
    text: clipMiddle(content, MESSAGE_CHARACTERS),
    ...(toolCalls && {
      calls: toolCalls.map(({ id, name, arguments: given }) => ({
        id,
        name,
        arguments: clipMiddle(given, MESSAGE_CHARACTERS),
      })),
    }),
    ...(toolCallId !== undefined && { resultOf: toolCallId }),
    ...(isError === true && { isError }),
    ...(attachments.length > 0 && { attachments }),
  };
}
