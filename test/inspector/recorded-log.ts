import { existsSync, readFileSync } from 'node:fs';
import type { Message } from '../../src/domain/message.ts';

const folder = new URL('../../../shared/traces/', import.meta.url);

export const hasTraces = existsSync(folder);

/** Reads the longest conversation of a file of recorded conversations. */
export function readRecording(source: string): Message[] {
  const lines = readFileSync(new URL(`${source}.jsonl`, folder), 'utf8')
    .split('\n')
    .filter(Boolean);
  const conversations = lines.map((line) => (JSON.parse(line) as { messages: Message[] }).messages);
  return conversations.reduce((longest, messages) => (messages.length > longest.length ? messages : longest));
}

/** Everything that a model reads of a message. */
export function readText({ content, toolCalls = [] }: Pick<Message, 'content' | 'toolCalls'>): string {
  return [content, ...toolCalls.map((call) => call.arguments)].join('\n');
}
