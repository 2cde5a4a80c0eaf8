/**
 * What answers the calls that a turn left open when it was settled without a final answer. It does not say that they did
 * not run: a call that was started may have. Counted here once, since a script cannot count.
 */
export const CLOSING_RESULT = {
  content: 'No result: the conversation went on before this call was answered. Whether it took effect is unknown.',
  tokens: 24,
  bytes: 101,
} as const;

/** As the last arguments of a script: content as JSON, tokens, bytes. */
export function closingArgs(): (string | number)[] {
  return [JSON.stringify(CLOSING_RESULT.content), CLOSING_RESULT.tokens, CLOSING_RESULT.bytes];
}
