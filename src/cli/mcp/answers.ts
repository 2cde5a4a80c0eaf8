import type { CallToolResult } from '@modelcontextprotocol/server';
import { isTurnfoldError } from '../../domain/errors.ts';
import type { Message } from '../../domain/message.ts';

/** Characters of a result. A coding agent refuses more, or loses the rest of its context to it. */
const MOST_CHARACTERS = 60_000;
const MESSAGE_CHARACTERS = 4_000;

export function writeTextResult(text: string): CallToolResult {
  return { content: [{ type: 'text', text: clip(text, MOST_CHARACTERS) }] };
}

export function writeJsonResult(value: unknown): CallToolResult {
  return writeTextResult(JSON.stringify(value, undefined, 1));
}

/** Errors of turnfold say what to do next, so the model reads them. Any other error is a defect of this program. */
export async function answerErrors(answer: () => Promise<CallToolResult>): Promise<CallToolResult> {
  try {
    return await answer();
  } catch (error) {
    if (!isTurnfoldError(error)) throw error;
    return { ...writeTextResult(`${error.code}: ${error.message}`), isError: true };
  }
}

/** Shows a message of the log or of a context. Images and provider items are named, not sent. */
export function showMessage({ role, content, toolCalls, toolCallId, isError, parts = [] }: Message): object {
  return {
    role,
    text: clip(content, MESSAGE_CHARACTERS),
    ...(toolCalls && { calls: toolCalls.map(({ id, name, arguments: given }) => ({ id, name, arguments: given })) }),
    ...(toolCallId !== undefined && { resultOf: toolCallId }),
    ...(isError === true && { isError }),
    ...(parts.length > 0 && { parts: parts.length }),
  };
}

function clip(text: string, most: number): string {
  if (text.length <= most) return text;
  const half = Math.floor(most / 2);
  return `${text.slice(0, half)}\n[… ${text.length - 2 * half} characters left out …]\n${text.slice(-half)}`;
}
