import { type ContextItem, weighItems } from '../context.ts';
import type { Message, Weight } from '../message.ts';
import type { CheckpointSegment, SeqRange } from '../version.ts';

/** A summary that may stand for its sequence: its text is stored, this is how it will lie in the context. */
export interface AcceptedSummary {
  readonly range: SeqRange;
  /** key of the text */
  readonly text: string;
  /** of the checkpoint as it is rendered */
  readonly weight: Weight;
  readonly depth: number;
  /** which summarizer wrote it */
  readonly model: string;
}

/**
 * Puts each summary in the place of its range, found by seq: indexes would move with the first replacement. One that is not
 * strictly smaller than what it would replace is left out, and the raw sequence stays.
 * @param version the number that the settled version will have
 */
export function placeSummaries(
  items: readonly ContextItem[],
  summaries: readonly AcceptedSummary[],
  version: number,
): { readonly items: readonly ContextItem[]; readonly used: string[] } {
  const summaryAt = new Map(summaries.map((summary) => [summary.range.from, summary]));
  const placed: ContextItem[] = [];
  const used: string[] = [];
  for (let position = 0; position < items.length; position += 1) {
    const item = items[position] as ContextItem;
    const summary = summaryAt.get(item.from);
    const replaced = summary === undefined ? [] : itemsUpTo(items, position, summary.range.to);
    if (summary !== undefined && summary.weight.tokens < weighItems(replaced).tokens) {
      placed.push(checkpointOf(summary, version));
      used.push(summary.text);
      position += replaced.length - 1;
    } else {
      placed.push(item);
    }
  }
  return { items: used.length === 0 ? items : placed, used };
}

/** The items from a position to the one that ends at `seq`; none where none ends there. */
function itemsUpTo(items: readonly ContextItem[], position: number, seq: number): readonly ContextItem[] {
  let end = position;
  while ((items[end]?.to ?? seq) < seq) end += 1;
  return items[end]?.to === seq ? items.slice(position, end + 1) : [];
}

function checkpointOf({ range, text, weight, depth }: AcceptedSummary, version: number): ContextItem {
  const segment: CheckpointSegment = { kind: 'checkpoint', ...range, version, weight, text, depth };
  const message: Message = { role: 'checkpoint', content: '', checkpoint: { ...range, version } };
  return { ...range, ...weight, segment, message };
}
