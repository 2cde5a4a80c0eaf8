import type { TokenCounter } from './token-counter.ts';

/** What counts of a message. */
export interface CountedMessage {
  readonly content: string;
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: string }[] | undefined;
}

/** What a provider adds around each message: role and delimiters. */
const WRAPPER_TOKENS = 4;

/** Tokens of a message: its text's, and four for its role and delimiters. Does not hold the event loop. */
export async function countMessage(counter: Pick<TokenCounter, 'count'>, message: CountedMessage): Promise<number> {
  return (await counter.count(textOf(message))) + WRAPPER_TOKENS;
}

/** The same at once, for a message of at most some thousand tokens. */
export function countMessageSync(counter: Pick<TokenCounter, 'countSync'>, message: CountedMessage): number {
  return counter.countSync(textOf(message)) + WRAPPER_TOKENS;
}

/** UTF-8 bytes of the same text. */
export function bytesOfMessage(message: CountedMessage): number {
  return Buffer.byteLength(textOf(message));
}

/** Content, then of each call its name and its arguments, with nothing between. */
function textOf({ content, toolCalls = [] }: CountedMessage): string {
  return content + toolCalls.map((call) => call.name + call.arguments).join('');
}
