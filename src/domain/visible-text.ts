/**
 * Control characters and marks that reorder text. With them, a terminal could set its title or write to the clipboard.
 */
const ACTING = /(?!\n|\t|\r\n)\p{Cc}|[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu;

/** Replaces each such character by its escape, as JSON does: `\u001b`. So printed JSON keeps its value. */
export function escapeActing(text: string): string {
  return text.replaceAll(ACTING, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
