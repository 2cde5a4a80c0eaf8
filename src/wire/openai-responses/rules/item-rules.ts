import type { Breach } from '../../rules/rule.ts';
import { isFilled } from './items.ts';
import type { ResponsesView } from './view.ts';

/**
 * R6: encrypted reasoning is sent as it came. Whether it is unchanged only the server can tell; a body shows that something is
 * there, and that a server which stored nothing is not asked for reasoning by its id.
 */
export function* keepsEncryptedContent({ items, isStateless }: ResponsesView): Generator<Breach> {
  for (const { path, type, encrypted_content, content } of items) {
    if (type !== 'reasoning') continue;
    const isAbsent = encrypted_content === undefined || encrypted_content === null;
    const isOpen = Array.isArray(content) && content.length > 0;
    if (!isAbsent && !isFilled(encrypted_content)) yield { path, message: 'encrypted_content that holds nothing' };
    if (isAbsent && isStateless && !isOpen)
      yield { path, message: 'reasoning without its content, and nothing is stored' };
  }
}

/** R7: a history that is sent whole, or cut, stands alone: the server adds none of its own. */
export function* usesNoServerHistory({ serverHistory }: ResponsesView): Generator<Breach> {
  for (const path of serverHistory) yield { path, message: "a history of the server's beside the input" };
}

/** R8: a compaction item is opaque, and does not part a call from its output. */
export function* keepsCompactionWhole({ items, calls, results }: ResponsesView): Generator<Breach> {
  const callAt = new Map(calls.map(({ id, position }) => [id, position]));
  const compactions = items.flatMap(({ type }, position) => (type === 'compaction' ? [position] : []));
  for (const position of compactions) {
    const { path = '', encrypted_content } = items[position] ?? {};
    if (!isFilled(encrypted_content)) yield { path, message: 'a compaction without its encrypted_content' };
  }
  const nextAfter = findNextCompactions(items);
  for (const { callId, position } of results) {
    const cut = nextAfter[callAt.get(callId) ?? position];
    if (cut !== undefined && cut < position)
      yield { path: items[cut]?.path ?? '', message: 'a compaction between a call and its output' };
  }
}

/** For each position that of the nearest compaction behind it; undefined where there is none. */
function findNextCompactions(items: ResponsesView['items']): (number | undefined)[] {
  const next = new Array<number | undefined>(items.length);
  let nearest: number | undefined;
  for (let position = items.length - 1; position >= 0; position -= 1) {
    next[position] = nearest;
    if (items[position]?.type === 'compaction') nearest = position;
  }
  return next;
}

/** R9: ids of items are unique. */
export function* hasUniqueIds({ items }: ResponsesView): Generator<Breach> {
  const seen = new Set<string>();
  for (const { path, id } of items) {
    if (id === undefined || id === null) continue;
    if (seen.has(id)) yield { path, message: 'the id of this item stands twice' };
    seen.add(id);
  }
}
