/**
 * Characters that a terminal acts on instead of showing them: C0 (ESC begins colours, titles and clipboard writes), DEL, C1
 * (which begins the same sequences with one character) and the marks that reorder a line of text. Newline and tab are text.
 */
const ACTING = /(?!\n|\t|\r\n)\p{Cc}|[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu;

/**
 * A text that a terminal only shows. Each acting character becomes its escape `\u001b`, which is also how JSON writes it: JSON
 * that is escaped here still has the same value.
 */
export function escapeActing(text: string): string {
  return text.replaceAll(ACTING, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
