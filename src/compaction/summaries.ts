import type { Group } from '../domain/group.ts';
import type { Message, Weight } from '../domain/message.ts';
import type { ContextItem, SeqRange, SummarySegment } from '../domain/version.ts';
import { weighItems } from './context.ts';
import { isFloor, type Layout } from './layout.ts';

export interface AcceptedSummary {
  readonly range: SeqRange;
  readonly summaryKey: string;
  readonly weight: Weight;
  readonly depth: number;
  readonly model: string;
}

interface Placement {
  readonly version: number;
  readonly mayRelaxFloor: boolean;
}

/**
 * Replaces sequences by their summaries. A sequence stays if its summary is not smaller, or if a group of the range is
 * protected or partial. A group can be partial if the version changed after the plan. Ranges are found by seq, because
 * indexes shift with each replacement.
 */
export function placeSummaries(
  layout: Layout,
  summaries: readonly AcceptedSummary[],
  { version, mayRelaxFloor }: Placement,
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
    if (isSmaller && mayGo(layout, { first: position, last: position + replaced.length - 1, mayRelaxFloor })) {
      placed.push(summaryOf(summary, version));
      used.push(summary.summaryKey);
      position += replaced.length - 1;
    } else {
      placed.push(item);
    }
  }
  return { items: used.length === 0 ? items : placed, used };
}

interface Stretch {
  readonly first: number;
  readonly last: number;
  readonly mayRelaxFloor: boolean;
}

/**
 * True if a summary may replace the groups. The first user message may always be replaced, because its text is copied.
 */
function mayGo({ groups, groupOf, protections }: Layout, { first, last, mayRelaxFloor }: Stretch): boolean {
  for (let position = first; position <= last; position += 1) {
    const group = groupOf[position] as number;
    const { positions } = groups[group] as Group;
    const isWhole = (positions[0] as number) >= first && (positions.at(-1) as number) <= last;
    const protection = protections[group];
    const isFree = protection === undefined || protection === 'first_user' || (mayRelaxFloor && isFloor(protection));
    if (!isWhole || !isFree) return false;
  }
  return true;
}

function itemsUpTo(items: readonly ContextItem[], position: number, seq: number): readonly ContextItem[] {
  let end = position;
  while ((items[end]?.to ?? seq) < seq) end += 1;
  return items[end]?.to === seq ? items.slice(position, end + 1) : [];
}

function summaryOf({ range, summaryKey, weight, depth }: AcceptedSummary, version: number): ContextItem {
  const segment: SummarySegment = { kind: 'summary', ...range, version, weight, summaryKey, depth };
  const message: Message = { role: 'summary', content: '', summary: { ...range, version } };
  return { ...range, ...weight, segment, message, isFresh: true };
}
