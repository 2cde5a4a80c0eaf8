import type { LogEntry, Message, Weight } from '../domain/message.ts';

/**
 * An entry as it lies in `log:`: `tokens bytes totalTokens totalBytes at turn` in a first line, the message's JSON behind
 * it. The totals are known only inside the script, and a script never re-encodes JSON, so it writes a line before it.
 */
export function decodeLogEntry(seq: number, text: string): LogEntry {
  const end = text.indexOf('\n');
  const [tokens, bytes, totalTokens, totalBytes, at, turn] = text.slice(0, end).split(' ');
  const weight: Weight = { tokens: Number(tokens), bytes: Number(bytes) };
  return {
    seq,
    message: JSON.parse(text.slice(end + 1)) as Message,
    ...weight,
    total: { tokens: Number(totalTokens), bytes: Number(totalBytes) },
    at: Number(at),
    ...(turn === '-' || turn === undefined ? {} : { turn }),
  };
}

/** An entry of another log as it lies there. */
export function encodeLogEntry({ message, tokens, bytes, total, at, turn = '-' }: LogEntry): string {
  return `${[tokens, bytes, total.tokens, total.bytes, at, turn].join(' ')}\n${JSON.stringify(message)}`;
}

/** Messages as arguments of a script: count, then per message tokens, bytes, whether it is a user message, and JSON. */
export function encodeMessages(messages: readonly (Weight & { readonly message: Message })[]): (string | number)[] {
  const args: (string | number)[] = [messages.length];
  for (const { tokens, bytes, message } of messages) {
    args.push(tokens, bytes, message.role === 'user' ? 1 : 0, JSON.stringify(message));
  }
  return args;
}
