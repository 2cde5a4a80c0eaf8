import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { Message } from '../../src/domain/message.ts';
import { readConversationLine } from '../../src/wire/conversation-line.ts';

const folder = new URL('../../../shared/traces/', import.meta.url);

export const hasTraces = existsSync(folder);

/** Every recorded conversation beside the project, whole. */
export function readConversations(): { readonly id: string; readonly messages: readonly Message[] }[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .flatMap((name) =>
      readFileSync(new URL(name, folder), 'utf8')
        .split('\n')
        .filter(Boolean)
        .map((line, index) => readConversationLine(line, index + 1)),
    );
}
