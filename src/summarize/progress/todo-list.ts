import { readArguments } from '../../compaction/evidence/call-values.ts';
import type { ToolCall } from '../../domain/message.ts';
import { isMapping } from '../../domain/parse.ts';

export interface TodoItem {
  readonly text: string;
  readonly status: string;
}

const STATUS_KEY = /^(?:status|state|done|completed?|finished|checked)$/i;
const MAX_STATUS_CHARS = 24;
const MAX_DEPTH = 3;
const MAX_ITEMS = 60;

const CLOSED = /^(?:completed?|done|finished|checked|cancell?ed|closed)$/i;

export function isClosed(status: string): boolean {
  return CLOSED.test(status);
}

/** Reads the list of tasks in a call: a list of objects that each have a text and a status. @returns [] without one */
export function readTodoList(call: Pick<ToolCall, 'arguments'>): TodoItem[] {
  if (!/"(?:status|state|done|complete|finished|checked)/i.test(call.arguments)) return [];
  return findItems(readArguments(call), MAX_DEPTH);
}

function findItems(value: unknown, depth: number): TodoItem[] {
  if (depth === 0) return [];
  if (Array.isArray(value)) {
    const items = value.slice(0, MAX_ITEMS).map(readItem);
    return items.length > 0 && items.every((item) => item !== undefined) ? items : [];
  }
  if (!isMapping(value)) return [];
  for (const inner of Object.values(value)) {
    const items = findItems(inner, depth - 1);
    if (items.length > 0) return items;
  }
  return [];
}

function readItem(value: unknown): TodoItem | undefined {
  if (!isMapping(value)) return undefined;
  const entries = Object.entries(value);
  const status = entries.find(([key, state]) => STATUS_KEY.test(key) && isState(state));
  if (status === undefined) return undefined;
  const [key, state] = status;
  // The first text of several words is the task. An id has no blanks.
  const texts = entries.filter(([other, text]) => other !== key && typeof text === 'string' && text.trim() !== '');
  const text = (texts.find(([, one]) => /\s|[^\p{ASCII}]/u.test(String(one))) ?? texts[0])?.[1];
  if (typeof text !== 'string') return undefined;
  return { text, status: typeof state === 'boolean' ? (state ? key : `not ${key}`) : String(state) };
}

function isState(state: unknown): boolean {
  return typeof state === 'boolean' || (typeof state === 'string' && state !== '' && state.length <= MAX_STATUS_CHARS);
}
