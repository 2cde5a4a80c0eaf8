import { writeBoundedJson } from './bounded-json.ts';
import { findContentFlaw } from './content-flaws.ts';
import { MAX_MESSAGE_BYTES } from './message.ts';
import { joinPath } from './parse.ts';
import { encodeBytes, readPart } from './parts.ts';

/** Providers accept fewer images and files in one request. */
export const MAX_RESULT_PARTS = 1_000;

type ReadParts =
  | { readonly status: 'read'; readonly parts: readonly unknown[] }
  /** The value is a list of something else, such as orders. */
  | { readonly status: 'other' }
  | { readonly status: 'refused'; readonly field: string; readonly why: string };

/** Reads texts, images and files of a tool's result, and copies them. Bytes become base64. */
export function readResultParts(value: unknown, at: string): ReadParts {
  if (!Array.isArray(value) || value.length === 0) return { status: 'other' };
  if (value.length > MAX_RESULT_PARTS) {
    return { status: 'refused', field: at, why: `expected at most ${MAX_RESULT_PARTS} parts` };
  }
  const copied = writeBoundedJson(value.map(encodeBytes), { maxCharacters: MAX_MESSAGE_BYTES });
  if (copied.status === 'refused') {
    const isTooLarge = copied.code === 'message_too_large';
    const advice = isTooLarge ? '. Keep the content elsewhere, and give its `reference` for `loadContent`' : '';
    return { status: 'refused', field: joinPath(at, copied.path), why: `${copied.why}${advice}` };
  }
  const parts = JSON.parse(copied.json) as unknown[];
  const read = parts.map(readPart);
  if (read.some(({ kind }) => kind === 'other')) return { status: 'other' };
  for (const [index, part] of read.entries()) {
    const flaw = findContentFlaw(part);
    if (flaw !== undefined) return { status: 'refused', field: `${at}[${index}]`, why: flaw };
  }
  return { status: 'read', parts };
}
