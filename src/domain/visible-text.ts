/**
 * Characters on which a terminal acts instead of displaying them: C0, DEL, C1 and the marks that reorder text. ESC in
 * C0 and one character in C1 begin colours, titles and clipboard writes. Newline and tab are text.
 */
const ACTING = /(?!\n|\t|\r\n)\p{Cc}|[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu;

/**
 * Makes a text safe for a terminal. Each acting character becomes its escape, e.g. `\u001b`. JSON uses the same
 * escapes, so escaped JSON keeps its value.
 */
export function escapeActing(text: string): string {
  return text.replaceAll(ACTING, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
