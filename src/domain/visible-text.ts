/** Control characters and marks that reorder text. With such characters, a text could act on a terminal. */
const ACTING = /(?!\n|\t|\r\n)\p{Cc}|[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu;

/** Escapes control characters and reordering marks as JSON does: `\u001b`. So printed JSON keeps its value. */
export function escapeActing(text: string): string {
  return text.replaceAll(ACTING, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
