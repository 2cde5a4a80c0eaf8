import type { ToolCall } from '../../domain/message.ts';
import { listPatchedFiles, listValues, readArguments } from './call-values.ts';

/** Values up to this length are shown whole. Most names and paths are shorter. */
const SHORT_CHARS = 64;
const MIN_CHARS = 24;
const MAX_VALUES = 16;
const ELLIPSIS = ' …';

/** Writes a call as `name key: value, key: value`. Long values share the room. A single value has no key. */
export function briefCall(call: ToolCall, maxChars: number): string {
  const { name } = call;
  const given = listValues(readArguments(call), MAX_VALUES);
  const changes = listPatchedFiles(given);
  const values = changes.length === 0 ? given : [{ key: 'changes', text: changes.join(' ') }, ...given];
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
