import { z } from 'zod';
import { metadataSchema, type TurnMetadata } from './turn.ts';

const ABOUT_LIMITS = { ownerCharacters: 128, titleCharacters: 200, firstWordsBytes: 60 } as const;

/**
 * Line breaks would spoil lists, and other control characters terminals. Half of a surrogate pair has no UTF-8, so Redis
 * would hold another owner.
 */
const ONE_LINE = /^[^\p{Cc}\p{Cs}\u2028\u2029]+$/u;

/** The application chooses owners, so an owner may contain any printable character: `auth0|17`, `ann@example.com`. */
export const ownerSchema = z
  .string()
  .min(1)
  .max(ABOUT_LIMITS.ownerCharacters)
  .regex(ONE_LINE, 'must be one line without control characters');

export const titleSchema = z
  .string()
  .min(1)
  .max(ABOUT_LIMITS.titleCharacters)
  .regex(ONE_LINE, 'must be one line without control characters');

export const conversationMetadataSchema = metadataSchema;

/** Owner, title and metadata of a conversation, which no model reads. */
export interface ConversationAbout {
  /** The person or account to whom the conversation belongs. Absent: no owner. */
  readonly owner?: string;
  /** The title that a caller set, or the first words of the first message. Absent in conversations of older releases. */
  readonly title?: string;
  /** Names and values that a caller set, at most 16, of 64 and 512 characters. */
  readonly metadata?: TurnMetadata;
  /** Time of the creation, in ms since epoch, by the clock of Redis. */
  readonly createdAt: number;
  /** Time of the last accepted turn or appended message, in ms since epoch, by the clock of Redis. */
  readonly lastAt: number;
}

const ELLIPSIS = '…';

/**
 * Returns the first words of a text on one line, at most 60 bytes. A longer field would end the compact encoding of the
 * conversation's hash in Redis, which then takes about 1 KB more.
 */
export function takeFirstWords(text: string): string {
  const { firstWordsBytes } = ABOUT_LIMITS;
  const start = text.trimStart().slice(0, 2 * firstWordsBytes);
  const line = start.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim();
  const isWhole = start.length === text.trimStart().length;
  if (isWhole && Buffer.byteLength(line) <= firstWordsBytes) return line;
  let [kept, left] = ['', firstWordsBytes - Buffer.byteLength(ELLIPSIS)];
  for (const character of line) {
    left -= Buffer.byteLength(character);
    if (left < 0) break;
    kept += character;
  }
  // A language without spaces, or one long word, is cut between two characters.
  const end = kept.lastIndexOf(' ');
  const words = end > kept.length / 2 ? kept.slice(0, end) : kept;
  return words === '' ? '' : `${words}${ELLIPSIS}`;
}
