import { expect, test } from 'vitest';
import { chooseFragments } from '../../src/compaction/evidence/coverage.ts';
import { readLedger } from '../../src/compaction/evidence/ledger.ts';
import { valueTerms } from '../../src/compaction/evidence/use-probability.ts';
import type { Interruptible } from '../../src/domain/interruptible.ts';
import type { Message } from '../../src/domain/message.ts';
import { eventLoopShare } from '../../src/wire/tokens/event-loop-share.ts';
import { holdsShortly } from '../setup/held-loop.ts';

/** The maximum number of characters of a message. */
const CHARS = 1_048_576;
const FIRST_HAN = 0x4e00;
const HAN = 20_000;

function user(content: string): Message[] {
  return [{ role: 'user', content: content.slice(0, CHARS) }];
}

/** Distinct pieces of 8 characters. */
function ids(separator: string): string {
  return Array.from({ length: CHARS / 8 }, (_, index) => `a${index.toString().padStart(6, '0')}${separator}`).join('');
}

/** Han characters in an order that repeats few pairs. */
function han(): string {
  let state = 1;
  const characters = Array.from({ length: CHARS / 2 }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return String.fromCharCode(FIRST_HAN + ((state >>> 8) % HAN));
  });
  return characters.join('');
}

function call(given: unknown): Message[] {
  return [
    { role: 'assistant', content: '', toolCalls: [{ id: 'c1_0', name: 'set', arguments: JSON.stringify(given) }] },
  ];
}

const keys = (count: number): object => Object.fromEntries(Array.from({ length: count }, (_, at) => [`key${at}`, at]));

/** Reads a source, values its terms, and chooses as many fragments as half of the source holds. */
function* choose(messages: readonly Message[]): Interruptible<number> {
  const ledger = yield* readLedger(messages);
  const values = yield* valueTerms(ledger);
  const tokens = new Float64Array(ledger.fragments.length).fill(10);
  const maxTokens = 5 * ledger.fragments.length;
  const request = { ledger, values, tokens, maxTokens, headTokens: 3, shown: [], mayChoose: () => true };
  return (yield* chooseFragments(request)).length;
}

test.each<[name: string, messages: readonly Message[]]>([
  ['1 MiB of distinct ids, one a line', user(ids('\n'))],
  ['1 MiB of distinct ids in one line', user(ids(' '))],
  ['1 MiB of distinct ids without a space', user(ids('.'))],
  ['500,000 Chinese characters in random order', user(han())],
  ['one line of one letter', user('a'.repeat(CHARS))],
  ['one line of slashes', user('/'.repeat(CHARS))],
  ['500,000 lines of one letter', user('a\n'.repeat(CHARS / 2))],
  ['30,000 argument keys', call(keys(30_000))],
  ['a list of 250,000 numbers in an argument', call(Array.from({ length: 250_000 }, (_, at) => at % 10))],
  ['100,000 empty messages', Array.from({ length: 100_000 }, (): Message => ({ role: 'user', content: '' }))],
])('choosing lines of %s blocks the event loop for less than the limit', async (_name, messages) => {
  expect(await holdsShortly(() => eventLoopShare.run(choose(messages)))).toMatchObject({ isShort: true });
});
