import { randomBytes } from 'node:crypto';
import type { LogEntry } from '../../../domain/message.ts';
import { type ContentPart, readParts } from '../../../domain/parts.ts';
import { type TurnName, writeItemId } from '../responses/response-names.ts';
import type { OutputItem } from '../responses/response-object.ts';

/** Stands for the turn in ids of items that no turn wrote. No turn has this name. */
export const NO_TURN = '-';

/** Writes the items of a message in the log. Reasoning of other providers is left out. */
export function writeLogItems(conversation: string, { seq, message }: Pick<LogEntry, 'seq' | 'message'>): OutputItem[] {
  const name: TurnName = { conversation, turn: NO_TURN };
  const { role, content, toolCalls = [], toolCallId } = message;
  const status = 'completed';
  const id = writeItemId(role === 'tool' ? 'fco' : 'msg', name, String(seq));
  const parts = readParts(message);
  if (role === 'tool') {
    const hasMedia = parts.some(({ kind }) => kind !== 'text');
    const output = hasMedia ? parts.flatMap((part) => writePart(part, false)) : content;
    return [{ id, type: 'function_call_output', call_id: toolCallId, output, status }];
  }
  const isSpoken = role !== 'assistant' || parts.length > 0 || toolCalls.length === 0;
  const shownRole = role === 'summary' ? 'user' : role;
  const listed = parts.flatMap((part) => writePart(part, role === 'assistant'));
  const said = isSpoken ? [{ id, type: 'message', role: shownRole, status, content: listed }] : [];
  const calls = toolCalls.map(({ id: call, name: tool, arguments: written }, index) => {
    const callId = writeItemId('fc', name, `${seq}_${index}`);
    return { id: callId, type: 'function_call', call_id: call, name: tool, arguments: written, status };
  });
  return [...said, ...calls];
}

function writePart(part: ContentPart, isAnswer: boolean): object[] {
  switch (part.kind) {
    case 'text':
      return isAnswer
        ? [{ type: 'output_text', text: part.text, annotations: [], logprobs: [] }]
        : [{ type: 'input_text', text: part.text }];
    case 'image':
      return [image(`data:${part.mediaType};base64,${part.base64}`)];
    case 'image_url':
      return [image(part.url)];
    case 'file':
      return [
        {
          type: 'input_file',
          ...(part.name !== undefined && { filename: part.name }),
          file_data: `data:${part.mediaType};base64,${part.base64}`,
        },
      ];
    case 'file_url':
      return [{ type: 'input_file', ...(part.name !== undefined && { filename: part.name }), file_url: part.url }];
    case 'reference':
      return [{ type: 'input_text', text: `[${part.mediaType}: ${part.reference}]` }];
    case 'other':
      return [];
  }
}

function image(url: string): object {
  return { type: 'input_image', detail: 'auto', image_url: url };
}

const TIME_DIGITS = 12;
const NEW_ID = /^conv_(?<time>[0-9a-f]{12})[0-9a-f]{20}$/;

/** The id holds the time, because nothing is stored of a conversation without items. */
export function createConversationId(now: number): string {
  const time = now.toString(16).padStart(TIME_DIGITS, '0');
  return `conv_${time}${randomBytes(10).toString('hex')}`;
}

/** @returns time of the creation in ms, if the server made the id */
export function timeOfConversationId(id: string): number | undefined {
  const time = NEW_ID.exec(id)?.groups?.['time'];
  return time === undefined ? undefined : Number.parseInt(time, 16);
}
