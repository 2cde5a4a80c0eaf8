import type { Message, ToolCall } from '../../domain/message.ts';
import { isMapping } from '../../domain/parse.ts';
import { type ContentPart, readParts } from '../../domain/parts.ts';

const NAME_FIELDS = ['filename', 'file_name', 'name', 'title', 'path'];
const ENDING = /\.(?:png|jpe?g|gif|webp|svg|bmp|tiff?|heic|pdf|mp[34]|wav|csv|docx?|xlsx?)\b/i;
const NO_FILE_NAME = /[\s"'<>|*?]/;
const MAX_NAME_CHARS = 120;
const BYTES_A_BASE64_CHARACTER = 0.75;

/**
 * Describes pictures and files, which a summary cannot show. Example: `[picture docs/plan.png (image/png, 34 KB) in
 * message 12]`.
 * @param call the tool call that the message answers
 */
export function describeAttachments(message: Message, seq: number | undefined, call?: ToolCall): string[] {
  const place = seq === undefined ? '' : ` in message ${seq}`;
  const given = message.parts ?? [];
  const parts = readParts(message);
  // `readParts` puts the text of a message first, if no part holds it.
  const offset = parts.length - given.length;
  return parts.flatMap((part, index) => {
    if (part.kind === 'text') return [];
    const name = nameIn(given[index - offset]) ?? nameOfUrl(part) ?? nameInCall(call);
    const kind = part.kind === 'other' ? 'file' : 'picture';
    return [`[${kind}${name === undefined ? '' : ` ${fold(name)}`}${describeType(part)}${place}]`];
  });
}

function describeType(part: ContentPart): string {
  if (part.kind === 'image') {
    const bytes = part.base64.length * BYTES_A_BASE64_CHARACTER;
    return ` (${fold(part.mediaType)}, ${Math.max(1, Math.round(bytes / 1_024))} KB)`;
  }
  return part.kind === 'other' ? ` (type ${fold(part.type)})` : '';
}

function nameIn(given: unknown, depth = 0): string | undefined {
  if (!isMapping(given) || depth > 1) return undefined;
  for (const field of NAME_FIELDS) {
    const value = given[field];
    if (typeof value === 'string' && value.trim() !== '') return value;
  }
  for (const value of Object.values(given)) {
    const name = nameIn(value, depth + 1);
    if (name !== undefined) return name;
  }
  return undefined;
}

function nameOfUrl(part: ContentPart): string | undefined {
  if (part.kind !== 'image_url' || part.url.startsWith('data:')) return undefined;
  return part.url.split(/[?#]/, 1)[0];
}

function nameInCall(call: ToolCall | undefined): string | undefined {
  const given = call?.arguments.slice(0, 16_384) ?? '';
  const ending = ENDING.exec(given);
  if (ending === null) return undefined;
  const before = given
    .slice(Math.max(0, ending.index - MAX_NAME_CHARS), ending.index)
    .split(NO_FILE_NAME)
    .at(-1);
  return `${before}${ending[0]}`;
}

function fold(text: string): string {
  return text
    .replace(/[\s[\]<>\p{Cc}]+/gu, ' ')
    .trim()
    .slice(0, MAX_NAME_CHARS);
}
