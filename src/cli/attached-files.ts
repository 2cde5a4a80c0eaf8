import { isUtf8 } from 'node:buffer';
import { basename, extname } from 'node:path';
import type { StoredPart } from '../api/client/index.ts';
import { fieldError } from '../domain/errors.ts';
import { MAX_MESSAGE_BYTES } from '../domain/message.ts';
import { PDF } from '../domain/parts.ts';
import { readPicture } from '../domain/picture-size.ts';
import { nameFile, readBytes } from './files.ts';

const OPTION = '--file';

/** Types of text files by the end of their names. Any other text is `text/plain`. */
const TEXT_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.csv': 'text/csv',
  '.htm': 'text/html',
  '.html': 'text/html',
  '.md': 'text/markdown',
  '.xml': 'text/xml',
};

/** Reads files as parts of a message. The bytes decide on the type of a file, because names are often wrong. */
export async function readAttachedFiles(paths: readonly string[] = []): Promise<readonly StoredPart[] | undefined> {
  if (paths.length === 0) return undefined;
  const parts: StoredPart[] = [];
  let bytes = 0;
  for (const path of paths) {
    const data = await readBytes(path);
    bytes += Math.ceil(data.length / 3) * 4;
    if (bytes > MAX_MESSAGE_BYTES) {
      const why = `the files have ${bytes} bytes as base64, but a message has at most ${MAX_MESSAGE_BYTES}`;
      throw fieldError('message_too_large', OPTION, `${why}. Send an address of the file, or less of it`);
    }
    const mediaType = findMediaType(path, data);
    const name = path === '-' ? {} : { name: basename(path) };
    parts.push({ type: mediaType.startsWith('image/') ? 'image' : 'file', mediaType, data, ...name });
  }
  return parts;
}

const PDF_HEADER_BYTES = 1_024;

function findMediaType(path: string, data: Buffer): string {
  if (data.length === 0) throw fieldError('invalid_input', OPTION, `${nameFile(path)} is empty`);
  const picture = readPicture(data);
  if (picture !== undefined) return picture.mediaType;
  if (data.toString('latin1', 0, PDF_HEADER_BYTES).includes('%PDF-')) return PDF;
  if (isUtf8(data) && !data.includes(0)) return TEXT_TYPES[extname(path).toLowerCase()] ?? 'text/plain';
  const why = `${nameFile(path)} is no PNG, JPEG, GIF or WebP picture, no PDF and no text in UTF-8`;
  throw fieldError('invalid_input', OPTION, `${why}, and models read nothing else`);
}
