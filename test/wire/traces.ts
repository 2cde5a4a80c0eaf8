import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { Message } from '../../src/domain/message.ts';
import { readConversationLine } from '../../src/wire/histories/conversation-line.ts';

const folder = new URL('../../../shared/traces/', import.meta.url);

export const hasTraces = existsSync(folder);

export interface RecordedConversation {
  readonly id: string;
  readonly messages: readonly Message[];
}

/** Reads the files of recorded conversations next to the project folder. Empty if the files are absent. */
export function readConversationFiles(): { readonly name: string; readonly conversations: RecordedConversation[] }[] {
  if (!hasTraces) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .map((name) => ({
      name: name.replace('.jsonl', ''),
      conversations: readFileSync(new URL(name, folder), 'utf8')
        .split('\n')
        .filter(Boolean)
        .map((line, index) => readConversationLine(line, index + 1)),
    }));
}
