import { forEachInSlices, type Interruptible } from '../domain/interruptible.ts';
import type { Message, Weight } from '../domain/message.ts';
import type { ContextItem } from '../domain/version.ts';
import type { Weigh } from './clip.ts';
import { isFlexible, type Layout } from './layout.ts';
import { hasPictures, maskPictures, namePictures } from './mask.ts';

/** Counting a longer text again would take too long. */
const MAX_COUNTED_CHARS = 4_000;

/**
 * Masks pictures after a provider refused the size of a request, because providers limit their number and size.
 * Pictures of the floor stay, unless no others are left. The last user message keeps its own.
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

/** The weight without pictures, and with the line in their place. */
function weighLongText({ message, tokens, bytes }: ContextItem, masked: Message, weigh: Weigh): Weight {
  const pictures = weigh({ ...message, content: '' });
  const line = weigh({ role: 'user', content: masked.content.slice(masked.content.lastIndexOf('\n')) });
  return {
    tokens: Math.max(line.tokens, tokens - pictures.tokens + line.tokens),
    bytes: Math.max(line.bytes, bytes - pictures.bytes + line.bytes),
  };
}
