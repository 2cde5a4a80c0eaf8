import type { TurnfoldClient } from '../../src/api/client/index.ts';

export const AGENT = 'talker';
/** Few, so that a sweep is small. */
export const SHARDS = 4;

/** A message as the page and the log show it: a user's, or the whole answer of a turn. */
export interface ShownMessage {
  readonly role: string;
  readonly texts: readonly string[];
}

/** Leaves out answers without text: of turns that failed, or that have only just begun. */
export function withoutEmpty(shown: readonly ShownMessage[]): ShownMessage[] {
  return shown.filter(({ texts }) => texts.length > 0);
}

/** The messages of the log, in the form of a page. */
export async function readLog(client: TurnfoldClient, conversation: string): Promise<ShownMessage[]> {
  const shown: { role: string; turn: string | undefined; texts: string[] }[] = [];
  for (const { message, turn } of await client.log(conversation).catch(() => [])) {
    const { role, content } = message;
    if (role !== 'user' && role !== 'assistant') continue;
    const last = shown.at(-1);
    const open = last !== undefined && last.role === role && last.turn === turn ? last : { role, turn, texts: [] };
    if (open !== last) shown.push(open);
    if (content !== '') open.texts.push(content);
  }
  return withoutEmpty(shown.map(({ role, texts }) => ({ role, texts })));
}

/**
 * Finds words that came twice or out of order in the text of an answer: `w7-0 w7-1 …`.
 * @returns undefined for a text in order
 */
export function findDisorder(text: string): string | undefined {
  const words = text
    .trim()
    .split(/\s+/)
    .filter((word) => word.startsWith('w'));
  const wrong = words.findIndex(
    (word, index) => word !== words[0]?.replace(/-\d+$/, `-${index}`) && index < words.length - 1,
  );
  return wrong === -1 ? undefined : words.slice(Math.max(0, wrong - 2), wrong + 2).join(' ');
}
