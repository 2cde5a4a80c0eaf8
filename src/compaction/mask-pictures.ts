import { forEachInSlices, type Interruptible } from '../domain/interruptible.ts';
import type { Message, Weight } from '../domain/message.ts';
import type { ContextItem } from '../domain/version.ts';
import type { Weigh } from './clip.ts';
import { isFlexible, type Layout } from './layout.ts';
import { hasPictures, maskPictures, namePictures } from './mask.ts';

/** Characters above which a text is not counted again, because counting would take too long. */
const MAX_COUNTED_CHARS = 4_000;

/**
 * Masks pictures after the provider refused the size of a request, because a provider limits the number and the size of
 * pictures. Old pictures go first: those of the floor stay, unless no others are left. The last user message keeps its
 * pictures.
 * @returns the items with masks, or the same items if no picture may be masked
 */
export function* maskOldPictures(
  { items, groupOf, protections }: Layout,
  weigh: Weigh,
): Interruptible<readonly ContextItem[]> {
  const lastUser = items.findLastIndex(({ message }) => message.role === 'user');
  const old: number[] = [];
  const recent: number[] = [];
  yield* forEachInSlices(items, (item, position) => {
    if (item.segment !== undefined || position === lastUser || !hasPictures(item.message)) return;
    const protection = protections[groupOf[position] as number];
    if (protection === undefined) old.push(position);
    else if (isFlexible(protection)) recent.push(position);
  });
  const chosen = old.length > 0 ? old : recent;
  if (chosen.length === 0) return items;
  const masked = [...items];
  for (const position of chosen) {
    masked[position] = maskItem(items[position] as ContextItem, weigh);
    yield;
  }
  return masked;
}

function maskItem(item: ContextItem, weigh: Weigh): ContextItem {
  const { from, to } = item;
  const note = namePictures(item.message);
  const message = maskPictures(item.message, from, note);
  const weight = message.content.length <= MAX_COUNTED_CHARS ? weigh(message) : weighLongText(item, message, weigh);
  return { from, to, message, ...weight, segment: { kind: 'masked', from, to, weight, note } };
}

/** Weighs a message with a long text: its weight without its pictures, and with the line in their place. */
function weighLongText({ message, tokens, bytes }: ContextItem, masked: Message, weigh: Weigh): Weight {
  const pictures = weigh({ ...message, content: '' });
  const line = weigh({ role: 'user', content: masked.content.slice(masked.content.lastIndexOf('\n')) });
  return {
    tokens: Math.max(line.tokens, tokens - pictures.tokens + line.tokens),
    bytes: Math.max(line.bytes, bytes - pictures.bytes + line.bytes),
  };
}
