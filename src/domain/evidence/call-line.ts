import { readJsonText } from '../json-text.ts';
import type { ToolCall } from '../message.ts';

/** A value of a call's arguments that holds no other value. */
interface Value {
  readonly key: string;
  readonly text: string;
}

/** Values of at most this length are shown whole: most names and paths. */
const SHORT_CHARS = 64;
const MIN_CHARS = 24;
const MAX_VALUES = 16;
/** Deeper values are left out. */
const MAX_DEPTH = 8;
const ELLIPSIS = ' …';

/**
 * Describes a call in one line of about `maxChars`: `name key: value, key: value`. Short values stay whole, and long values
 * share the rest. The key of a lone value is left out.
 */
export function briefCall({ name, arguments: given }: ToolCall, maxChars: number): string {
  const values = readValues(given).slice(0, MAX_VALUES);
  const long = values.filter(({ text }) => text.length > SHORT_CHARS);
  const shortChars = values.reduce((sum, { key, text }) => sum + key.length + 4 + (isShort(text) ? text.length : 0), 0);
  const share = Math.max(MIN_CHARS, Math.floor((maxChars - name.length - shortChars) / Math.max(1, long.length)));
  const shown = values.map(({ key, text }) => {
    const value = isShort(text) ? text : clipAtWord(text, share);
    return values.length === 1 || key === '' ? value : `${key}: ${value}`;
  });
  return foldBlanks(`${name} ${shown.join(', ')}`);
}

function isShort(text: string): boolean {
  return text.length <= SHORT_CHARS;
}

/** Cuts before a word, because half a name is a wrong name. A single long word is left out. */
export function clipAtWord(text: string, maxChars: number): string {
  const line = foldBlanks(text.slice(0, 4 * maxChars));
  if (line.length <= maxChars && text.length <= 4 * maxChars) return line;
  const end = line.lastIndexOf(' ', maxChars - ELLIPSIS.length);
  return end < 1 ? ELLIPSIS.trim() : line.slice(0, end) + ELLIPSIS;
}

function foldBlanks(text: string): string {
  return text.replace(/[\s\p{Cc}]+/gu, ' ').trim();
}

function readValues(given: string): Value[] {
  const values: Value[] = [];
  const visit = (value: unknown, key: string, depth = 0): void => {
    if (value === null || value === undefined || depth > MAX_DEPTH || values.length >= MAX_VALUES) return;
    if (Array.isArray(value)) for (const item of value) visit(item, key, depth + 1);
    else if (typeof value === 'object') for (const [own, item] of Object.entries(value)) visit(item, own, depth + 1);
    else if (isScalar(value)) values.push({ key, text: String(value) });
  };
  visit(readJsonText(given) ?? given, '');
  return values;
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}
