import { runToEnd } from '../../../src/domain/interruptible.ts';
import type { Message } from '../../../src/domain/message.ts';
import { detectFormat } from '../../../src/wire/histories/detect-format.ts';
import type { FileRecord } from '../../../src/wire/histories/formats/format.ts';
import { type ReadHistory, readHistoryInSlices } from '../../../src/wire/histories/history.ts';

export interface ReadConversation extends ReadHistory {
  readonly format: string;
  readonly id: string | undefined;
}

/** Reads JSON lines in the format that they look like. */
export function readLines(...values: readonly unknown[]): ReadConversation[] {
  return readRecords(values.map((value, index) => ({ value, at: `line ${index + 1}` })));
}

/** Reads one document in the format that it looks like. */
export function readDocument(value: unknown): ReadConversation[] {
  return readRecords([{ value, at: '' }]);
}

function readRecords(records: readonly FileRecord[]): ReadConversation[] {
  const format = detectFormat(records);
  if (format === undefined) throw new Error('no format recognizes the records');
  return format.read(records).map((conversation) => ({
    format: format.name,
    id: conversation.id,
    ...runToEnd(readHistoryInSlices(conversation)),
  }));
}

/** Returns messages without fields that only few tests read. */
export function outline(messages: readonly Message[]): unknown[] {
  return messages.map(({ role, content, toolCalls, toolCallId, isError }) => ({
    role,
    content,
    ...(toolCalls && { calls: toolCalls.map(({ id, name, arguments: text }) => [id, name, text]) }),
    ...(toolCallId !== undefined && { toolCallId }),
    ...(isError === true && { isError }),
  }));
}
