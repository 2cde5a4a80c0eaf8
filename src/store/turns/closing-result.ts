import { CLOSING_RESULT } from '../../domain/message.ts';

/** As the last arguments of a script: content as JSON, tokens, bytes. */
export function closingArgs(): (string | number)[] {
  return [JSON.stringify(CLOSING_RESULT.content), CLOSING_RESULT.tokens, CLOSING_RESULT.bytes];
}
