import { type ContextItem, weighItems } from '../context.ts';
import type { Group } from '../group.ts';
import type { Message, Weight } from '../message.ts';
import type { SeqRange, SummarySegment } from '../version.ts';
import type { Layout } from './layout.ts';

/** A summary that may stand for its sequence: its text is stored, this is how it will lie in the context. */
export interface AcceptedSummary {
  readonly range: SeqRange;
  /** key of the text */
  readonly text: string;
  /** of the summary as it is rendered */
  readonly weight: Weight;
  readonly depth: number;
  /** which summarizer wrote it */
  readonly model: string;
}

/**
 * Puts each summary in the place of its range, found by seq: indexes would move with the first replacement. Left out, so that
 * the raw sequence stays, is one that is not strictly smaller than what it would replace; and one whose range holds what stays
 * or a part of a group: where the version changed since the plan, so may have what is old enough to go.
 * @param version the number that the settled version will have
 */
export function placeSummaries(
  layout: Layout,
  summaries: readonly AcceptedSummary[],
  version: number,
): { readonly items: readonly ContextItem[]; readonly used: string[] } {
  const { items } = layout;
  const summaryAt = new Map(summaries.map((summary) => [summary.range.from, summary]));
  const placed: ContextItem[] = [];
  const used: string[] = [];
  for (let position = 0; position < items.length; position += 1) {
    const item = items[position] as ContextItem;
    const summary = summaryAt.get(item.from);
    const replaced = summary === undefined ? [] : itemsUpTo(items, position, summary.range.to);
    const isSmaller = summary !== undefined && summary.weight.tokens < weighItems(replaced).tokens;
    if (isSmaller && mayGo(layout, position, position + replaced.length - 1)) {
      placed.push(summaryOf(summary, version));
      used.push(summary.text);
      position += replaced.length - 1;
    } else {
      placed.push(item);
    }
  }
  return { items: used.length === 0 ? items : placed, used };
}

/** Whether every group in a stretch lies whole in it, and may go. The first user message may: its text is copied. */
function mayGo({ groups, groupOf, protections }: Layout, first: number, last: number): boolean {
  for (let position = first; position <= last; position += 1) {
    const group = groupOf[position] as number;
    const { positions } = groups[group] as Group;
    const isWhole = (positions[0] as number) >= first && (positions.at(-1) as number) <= last;
    const protection = protections[group];
    if (!isWhole || (protection !== undefined && protection !== 'first_user')) return false;
  }
  return true;
}

/** The items from a position to the one that ends at `seq`; none where none ends there. */
function itemsUpTo(items: readonly ContextItem[], position: number, seq: number): readonly ContextItem[] {
  let end = position;
  while ((items[end]?.to ?? seq) < seq) end += 1;
  return items[end]?.to === seq ? items.slice(position, end + 1) : [];
}

function summaryOf({ range, text, weight, depth }: AcceptedSummary, version: number): ContextItem {
  const segment: SummarySegment = { kind: 'summary', ...range, version, weight, text, depth };
  const message: Message = { role: 'summary', content: '', summary: { ...range, version } };
  return { ...range, ...weight, segment, message };
}
