import type { Message, ToolCall } from '../src/domain/message.ts';

/** Returns the same sequence of pseudo-random numbers on every machine. */
export function numbersFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Writes the texts of a history. */
export interface Texts {
  readonly message: () => string;
  readonly call: () => Pick<ToolCall, 'name' | 'arguments'>;
}

/** Texts without characters, and calls that are all alike. They leave the work that depends on the number of messages alone. */
export const EMPTY: Texts = { message: () => '', call: () => ({ name: 'read', arguments: '{}' }) };

const WORDS = 'the order of lease was renewed before each worker could read it again and then failed with status'.split(
  ' ',
);
const FOLDERS = ['src/store', 'src/workers/turn', 'test/client', 'docs/reference', 'src/jobs/bullmq'];
const TOOLS = ['read_file', 'search', 'edit_file', 'run'];
const MIN_CHARS = 200;
const MAX_CHARS = 1_600;
/** One call in so many repeats an earlier one. */
const REPEAT_EVERY = 12;

/** Lines of 200 to 1,600 characters of words, paths, ids and numbers. Calls differ, except for some repeated ones. */
export function realisticTexts(seed: number): Texts {
  const below = numbersFrom(seed);
  const calls: Pick<ToolCall, 'name' | 'arguments'>[] = [];
  const pathOf = (): string => `${FOLDERS[below(FOLDERS.length)]}/${WORDS[below(WORDS.length)]}-${below(400)}.ts`;
  const word = (): string => {
    const kind = below(24);
    if (kind === 0) return pathOf();
    if (kind === 1) return `order-${below(90_000)}`;
    if (kind === 2) return `status: ${below(600)}`;
    if (kind === 3) return `read${WORDS[below(WORDS.length)]}Lease${below(50)}()`;
    return WORDS[below(WORDS.length)] as string;
  };
  const text = (chars: number): string => {
    const words: string[] = [];
    for (let written = 0; written < chars; written += (words.at(-1) as string).length)
      words.push(words.length === 0 ? word() : `${below(10) === 0 ? '\n' : ' '}${word()}`);
    // Texts from a store lie in memory as one piece, too.
    return words.join('');
  };
  const message = (): string => text(MIN_CHARS + below(MAX_CHARS - MIN_CHARS));
  const call: Texts['call'] = () => {
    const repeated = calls.length > 0 && below(REPEAT_EVERY) === 0 ? calls[below(calls.length)] : undefined;
    if (repeated !== undefined) return repeated;
    const name = TOOLS[below(TOOLS.length)] as string;
    const written = { name, arguments: JSON.stringify({ path: pathOf(), line: below(5_000), query: text(MIN_CHARS) }) };
    calls.push(written);
    return written;
  };
  return { message, call };
}

/** Turns of text and tool rounds with one to four parallel calls. Every tenth result comes long after its call. */
export function mixedHistory(length: number, { message, call }: Texts = EMPTY): Message[] {
  const below = numbersFrom(7);
  const messages: Message[] = [{ role: 'system', content: message() }];
  const late: { readonly message: Message; readonly due: number }[] = [];
  while (messages.length < length) {
    while ((late[0]?.due ?? Number.POSITIVE_INFINITY) <= messages.length)
      messages.push((late.shift() as (typeof late)[number]).message);
    const kind = below(10);
    if (kind < 2) messages.push({ role: 'user', content: message() });
    else if (kind < 4) messages.push({ role: 'assistant', content: message() });
    else {
      const ids = Array.from({ length: 1 + below(4) }, (_, index) => `c${messages.length + 1}_${index}`);
      messages.push({ role: 'assistant', content: '', toolCalls: ids.map((id) => ({ id, ...call() })) });
      for (const toolCallId of ids) {
        const result: Message = { role: 'tool', content: message(), toolCallId };
        if (below(10) === 0) late.push({ message: result, due: messages.length + 40 });
        else messages.push(result);
      }
    }
  }
  return messages.slice(0, length);
}

/**
 * One long turn whose tool rounds interleave: each result comes after the next call. A user message splits the first
 * round.
 */
export function interlockedHistory(length: number, { message, call }: Texts = EMPTY): Message[] {
  const callAt = (index: number): Message => ({
    role: 'assistant',
    content: '',
    toolCalls: [{ id: `c${index}`, ...call() }],
  });
  const messages: Message[] = [callAt(0), { role: 'user', content: message() }];
  for (let index = 0; messages.length < length - 1; index += 1) {
    messages.push(callAt(index + 1), { role: 'tool', content: message(), toolCallId: `c${index}` });
  }
  return messages;
}

/** A conversation of text only. */
export function chatHistory(length: number, { message }: Texts = EMPTY): Message[] {
  return Array.from({ length }, (_, index) => ({ role: index % 2 === 0 ? 'user' : 'assistant', content: message() }));
}
