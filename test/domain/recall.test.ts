import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MASK_TOKENS } from '../../src/domain/compaction/mask.ts';
import { buildLog, type LogEntry, type Message, NO_WEIGHT } from '../../src/domain/message.ts';
import { RecallSearch, readQuery, recallText } from '../../src/domain/recall.ts';
import { runToEnd } from '../../src/domain/sliced.ts';
import type { Segment } from '../../src/domain/version.ts';
import { toolResult as result, user } from './messages.ts';

const call = (id: string, name: string, given: string): Message => ({
  role: 'assistant',
  content: '',
  toolCalls: [{ id, name, arguments: given }],
});

const segment = (kind: 'raw' | 'evicted' | 'masked', from: number, to: number): Segment => ({
  kind,
  from,
  to,
  weight: NO_WEIGHT,
});

function logOf(messages: readonly Message[], tokens = 10): LogEntry[] {
  return buildLog(messages.map((message) => ({ message, tokens, bytes: tokens * 4 })));
}

/** A recall search over a log whose messages have all left the context, unless segments are given. */
function searchFor(query: string, entries: readonly LogEntry[], segments?: readonly Segment[]): RecallSearch {
  const search = new RecallSearch(readQuery(query), segments ?? [segment('evicted', 1, Math.max(1, entries.length))]);
  for (const entry of entries) runToEnd(search.add(entry));
  return search;
}

const find = (query: string, messages: readonly Message[], segments?: readonly Segment[]): number[] =>
  searchFor(query, logOf(messages), segments).rank();

const excerptOf = (query: string, text: string, reach: number): string => {
  const message = user(text);
  return runToEnd(searchFor(query, logOf([message])).excerpt(message, reach));
};

describe('a search of the recall tool', () => {
  test.each([
    [
      'the whole query first, then more of its words before fewer',
      'blue whale song',
      ['song', 'a whale: blue', 'Blue Whale Songs', 'cat'],
      [3, 2, 1],
    ],
    ['a rare word before a frequent word', 'order 4711', ['an order', 'an order', '4711', 'an order'], [3, 4, 2, 1]],
    ['the newest of equal matches first', 'tide', ['tide 1', 'no', 'TIDE 2', 'low tide'], [4, 3, 1]],
    [
      'the newest first for two words of the same weight',
      'sun moon',
      ['sun', 'moon', 'sun', 'moon', 'star'],
      [4, 3, 2, 1],
    ],
    ['a path whole before its parts', 'where is src/a/b.ts?', ['b.ts of src/a', 'in src/a/b.ts, line 1'], [2, 1]],
    [
      'a whole word before a part of a longer word',
      'id 77',
      ['id 77.', 'id 7', 'id 770', 'bid 77', '(77)'],
      [1, 4, 3, 5],
    ],
    ['an id within a longer one', '4711', ['ORD4711', 'ORD4712'], [1]],
    ['only the longer words of a query that has any', 'is it an owl', ['is it an', 'an owl'], [2]],
    ['short words if the query has no others', 'is it', ['now', 'it is'], [2]],
    ['signs that are no word', '=>', ['a -> b', 'a => b'], [2]],
    ['words of a script without blanks', '订单号码', ['你的订单已发货', '天气'], [1]],
    ['other writings of a letter', 'CAFÉ ΟΔΟΣ', ['cafe\u0301', 'οδος', 'ΟΔΟΣΑ', 'kaf'], [1, 2, 3]],
  ])('a recall search finds %s', (_what, query, texts, seqs) => {
    expect(
      find(
        query,
        texts.map((text) => user(text)),
      ),
    ).toEqual(seqs);
  });

  test('a recall search looks in texts, text parts and tool calls', () => {
    const parts = [
      { type: 'text', text: 'a heron' },
      { type: 'image_url', image_url: 'data:image/png;base64,heronheron' },
    ];
    const messages: Message[] = [{ ...user(''), parts }, call('c2_0', 'open', '{"path":"heron.md"}'), user('none')];
    expect(find('heron', messages)).toEqual([2, 1]);
    expect(recallText(messages[0] as Message)).toBe('a heron');
  });

  test('a recall search ignores earlier calls of recall and their results, however far apart', () => {
    const messages = [
      user('a kite'),
      call('c2_0', 'recall', '{"query":"kite"}'),
      call('c3_0', 'fly', '{"what":"kite"}'),
    ];
    messages.push(result('c3_0', 'kite: up'), result('c2_0', '{"hits":[{"excerpt":"a kite"}]}'));
    expect(find('kite', messages)).toEqual([4, 3, 1]);
  });

  test('a recall search returns a message that is still in the context only if no archived or shortened message matches', () => {
    const clipped: Segment = { kind: 'clipped', from: 4, to: 4, weight: NO_WEIGHT, keepChars: 10 };
    const summary: Segment = {
      kind: 'summary',
      from: 2,
      to: 2,
      version: 1,
      weight: NO_WEIGHT,
      summaryKey: 'k',
      depth: 1,
    };
    const segments = [segment('raw', 1, 1), summary, segment('masked', 3, 3), clipped, segment('raw', 5, 5)];
    const messages = [user('fox'), user('fox'), result('c1_0', 'fox'), user('fox'), user('fox'), user('fox')];
    const searchAt = (tokens: number) => searchFor('fox', logOf(messages, tokens), segments);
    expect(searchAt(MASK_TOKENS + 1).rank()).toEqual([4, 3, 2]);
    // A tool result that is no larger than its placeholder is not replaced.
    expect(searchAt(MASK_TOKENS).rank()).toEqual([4, 2]);
    const present = searchFor('owl', logOf([user('owl'), user('fox'), user('an owl')]), [segment('evicted', 2, 2)]);
    expect([present.hasArchived, present.rank()]).toEqual([false, [3, 1]]);
    expect(searchFor('bat', logOf(messages), segments).rank()).toEqual([]);
  });
});

describe('an excerpt that the recall tool returns', () => {
  test('a recall excerpt shows the query, or otherwise its rarest word, with the text around it', () => {
    expect(excerptOf('gamma', 'alpha beta Gamma delta epsilon', 6)).toBe('… beta Gamma delta…');
    expect(excerptOf('gamma', 'Gamma', 6)).toBe('Gamma');
    const entries = logOf([user('the the the'), user('the one'), user('one, the old Grebe')]);
    const search = searchFor('the grebe', entries);
    expect(runToEnd(search.excerpt(entries[2]?.message as Message, 4))).toBe('…old Grebe');
  });

  test('a recall excerpt never cuts a surrogate pair in half', () => {
    expect(excerptOf('x', '🦊🦊x🦊🦊', 3)).toBe('…🦊x🦊…');
    expect(excerptOf('x', '🦊🦊x🦊🦊', 2)).toBe('…🦊x🦊…');
    expect(excerptOf('x', '\ud83ex\udd8a', 2)).toBe('\ufffdx\ufffd');
  });

  test('a recall excerpt finds its word after any Unicode characters', () => {
    for (let first = 0; first < 0x110000; first += 0x400) {
      const codePoints = Array.from({ length: 0x400 }, (_, index) => first + index);
      const text = `${String.fromCodePoint(...codePoints)}|NEEDLE|`;
      expect(excerptOf('needle', text, 1), first.toString(16)).toBe('…|NEEDLE|');
    }
  });

  const texts = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.string({ unit: 'grapheme', maxLength: 60 }),
    fc
      .array(fc.constantFrom('İ', 'ß', 'ς', 'Σ', 'ﬁ', 'e\u0301', '\ud83d', '订单', 'ab', ' ', '.', '🏳️‍🌈'), {
        maxLength: 30,
      })
      .map((all) => all.join('')),
  );

  test('a recall query copied from a message finds that message, and each excerpt stays within its length limit', () => {
    const cases = fc.record({
      texts: fc.array(texts, { minLength: 1, maxLength: 8 }),
      at: fc.nat(),
      from: fc.nat(),
      to: fc.nat(),
      reach: fc.nat(40),
    });
    let hits = 0;
    fc.assert(
      fc.property(cases, ({ texts: given, at, from, to, reach }) => {
        const source = Array.from((given[at % given.length] as string).normalize('NFC').toWellFormed());
        const start = from % (source.length + 1);
        const query = source.slice(start, start + 1 + (to % 20)).join('');
        if (query.trim() === '') return;
        const entries = logOf(given.map((text) => user(text)));
        const search = searchFor(query, entries);
        const { phrase, words } = readQuery(query);
        const ranked = search.rank();
        expect(ranked).toContain((at % given.length) + 1);
        expect(new Set(ranked).size).toBe(ranked.length);
        for (const seq of ranked) {
          const { message } = entries[seq - 1] as LogEntry;
          const excerpt = runToEnd(search.excerpt(message, reach));
          const shown = excerpt.replaceAll('…', '');
          expect(excerpt.isWellFormed()).toBe(true);
          expect(excerpt.length).toBeLessThanOrEqual(2 * reach + phrase.length + 2);
          expect(words.some((word) => readQuery(`|${shown}|`).phrase.includes(word.replaceAll('…', '')))).toBe(true);
          hits += 1;
        }
        expect(searchFor(query, entries).rank()).toEqual(ranked);
      }),
      { numRuns: 2_000 },
    );
    expect(hits).toBeGreaterThan(1_000);
  });
});
