import type { ToolOutput } from '../domain/agent.ts';
import type { OpenCall } from '../domain/history.ts';
import { indexOfCallId, seqOfCallId } from '../domain/ids.ts';
import { addWeights, CLOSING_RESULT, NO_WEIGHT, type WeighedMessage } from '../domain/message.ts';
import type { MemoryConversation } from './database.ts';

/**
 * Appends messages to the log, as `lua/shared/append.lua` does in Redis.
 * @returns the seq of the last message
 */
export function appendToLog(
  conversation: MemoryConversation,
  messages: readonly WeighedMessage[],
  now: number,
  turn?: string,
): number {
  for (const { message, tokens, bytes } of messages) {
    const { log } = conversation;
    const total = addWeights(log.at(-1)?.total ?? NO_WEIGHT, { tokens, bytes });
    log.push({ seq: log.length + 1, message, tokens, bytes, total, at: now, ...(turn !== undefined && { turn }) });
    if (message.role === 'user') conversation.turns += 1;
  }
  return conversation.log.length;
}

/** Adds newly opened tool calls and removes answered ones, as `lua/shared/move-calls.lua` does in Redis. */
export function moveCalls(
  conversation: MemoryConversation,
  opens: readonly OpenCall[],
  closes: readonly string[],
): void {
  for (const { id, providerId } of opens) conversation.openCalls.set(id, providerId ?? '');
  for (const id of closes) conversation.openCalls.delete(id);
}

/** Appends a result for every unanswered tool call, as `lua/shared/close.lua` does in Redis. */
export function closeOpenCalls(conversation: MemoryConversation, turn: string, now: number): void {
  const { content, tokens, bytes } = CLOSING_RESULT;
  const ids = [...conversation.openCalls.keys()].toSorted(
    (a, b) => seqOfCallId(a) - seqOfCallId(b) || indexOfCallId(a) - indexOfCallId(b),
  );
  const record = conversation.turnRecords.get(turn);
  const messages = ids.map((toolCallId): WeighedMessage => {
    const unused = record?.unused.get(toolCallId);
    const result = { role: 'tool' as const, toolCallId };
    if (unused === undefined) return { message: { ...result, content, isError: true }, tokens, bytes };
    const output = JSON.parse(unused.json ?? record?.answers.get(toolCallId) ?? '') as ToolOutput;
    return { message: { ...result, ...output }, tokens: unused.tokens, bytes: unused.bytes };
  });
  appendToLog(conversation, messages, now, turn);
  conversation.openCalls.clear();
}
