import type { ToolCall } from '../../../../src/domain/message.ts';
import type { SourceLog } from './log.ts';
import { type Grade, gradeAll, type Topic } from './topic.ts';

interface Item {
  readonly text: string;
  readonly status: string;
}

const LIST_TOOL = /todo|plan/i;
const STATUS = /pending|in_progress|completed|done/;
/** The status stands within these characters behind the item. */
const REACH = 60;

/** State of each item of the last todo list. */
export function findTodoList({ messages }: SourceLog): Topic | undefined {
  const lists = messages.flatMap(({ toolCalls = [] }) => toolCalls.map(readList));
  const items = lists.findLast((list) => list.length > 0);
  if (items === undefined) return undefined;
  const grade = (text: string): Grade => gradeAll(items.map((item) => gradeItem(text, item)));
  const text =
    'Write each item of the last todo list in its own words, followed by its status: pending, in_progress or completed.';
  return { grade: (context) => ({ todo: grade(context.text) }), asked: [{ kinds: ['todo'], text, grade }] };
}

function gradeItem(text: string, item: Item): 'right' | 'wrong' | undefined {
  const at = text.lastIndexOf(item.text);
  if (at === -1) return undefined;
  const end = at + item.text.length;
  const [status] = STATUS.exec(text.slice(end, end + REACH)) ?? [];
  if (status === undefined) return undefined;
  return status === item.status ? 'right' : 'wrong';
}

function readList({ name, arguments: text }: ToolCall): Item[] {
  if (!LIST_TOOL.test(name)) return [];
  const given = parse(text);
  const list = [given['todos'], given['plan'], given['items']].find((one) => one !== undefined && one !== null);
  return Array.isArray(list) ? list.flatMap(readItem) : [];
}

function readItem(given: unknown): Item[] {
  if (typeof given !== 'object' || given === null) return [];
  const { content, step, text, status } = given as Readonly<Record<string, unknown>>;
  const words = content ?? step ?? text;
  const isItem = typeof words === 'string' && words !== '' && typeof status === 'string' && status !== '';
  return isItem ? [{ text: words, status }] : [];
}

function parse(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
  } catch {
    return {};
  }
}
