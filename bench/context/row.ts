import type { Message } from '../../src/domain/message.ts';
import type { PolicyInput } from '../../src/domain/policy.ts';
import { renderMessage, renderMessages } from '../../src/evaluation/quality/searchable-text.ts';
import { type BenchPoint, countTokens } from './points.ts';

/** A compacted context. A plain text has no messages, so it could not be sent as a conversation. */
export type CompactedContext = string | readonly Message[];

/** A way to make a context of at most `maxTokens` from the source of a point. */
export interface Row {
  readonly name: string;
  /** Measured only if `--rows` names it. */
  readonly isExtra?: boolean;
  /** @returns undefined if this way makes no context of that size */
  readonly compact: (bench: BenchPoint, maxTokens: number) => Promise<CompactedContext | undefined>;
  /** How the row compacts a conversation that goes on: by messages alone, or as workers do under a policy. */
  readonly live?: CompactMessages | Omit<PolicyInput, 'maxTokens'>;
}

export type CompactMessages = (messages: readonly Message[], maxTokens: number) => Promise<readonly Message[]>;

/** A row that needs nothing but the messages of the source, at a point and in a conversation that goes on. */
export function rowOfMessages(name: string, compact: CompactMessages): Row {
  return { name, live: compact, compact: async ({ point }, maxTokens) => compact(point.source, maxTokens) };
}

/** The context as the one text that is measured. System messages are outside of the budget, so they are left out. */
export function renderContext(context: CompactedContext): string {
  return typeof context === 'string' ? context : renderMessages(context.filter(({ role }) => role !== 'system'));
}

const known = new WeakMap<Message, number>();

/** Tokens of a message as the measure renders it, with its line break. */
export function tokensOf(message: Message): number {
  const tokens = known.get(message) ?? countTokens(renderMessage(message)) + 1;
  known.set(message, tokens);
  return tokens;
}

export function sumTokens(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + tokensOf(message), 0);
}

/** Groups messages so that each round is whole: a message without calls, or an assistant message with its results. */
export function splitRounds(messages: readonly Message[]): Message[][] {
  const rounds: Message[][] = [];
  for (const message of messages) {
    const last = rounds.at(-1);
    if (message.role === 'tool' && last !== undefined) last.push(message);
    else rounds.push([message]);
  }
  return rounds;
}

/** Takes rounds from one end of a conversation until one does not fit. */
export function takeRounds(rounds: readonly (readonly Message[])[], maxTokens: number): Message[][] {
  let left = maxTokens;
  const count = rounds.findIndex((round) => {
    left -= sumTokens(round);
    return left < 0;
  });
  return rounds.slice(0, count === -1 ? rounds.length : count).map((round) => [...round]);
}

/** Finds the largest number from 0 to `most` that passes, if every smaller number passes, too. -1 if 0 fails. */
export async function findLargest(most: number, passes: (value: number) => Promise<boolean>): Promise<number> {
  let [low, high] = [-1, most];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (await passes(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}
