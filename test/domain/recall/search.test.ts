import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MASK_TOKENS } from '../../../src/compaction/mask.ts';
import { LineIndex, type LineMatches } from '../../../src/compaction/recall/line-index.ts';
import { type MatchedMessage, matchMessage, rankMatched } from '../../../src/compaction/recall/matched-message.ts';
import { fold, recallText } from '../../../src/compaction/recall/message-lines.ts';
import { readRecallQuery } from '../../../src/compaction/recall/recall-query.ts';
import { runToEnd } from '../../../src/domain/interruptible.ts';
import { buildLog, type LogEntry, type Message, NO_WEIGHT } from '../../../src/domain/message.ts';
import type { Segment } from '../../../src/domain/version.ts';
import { toolResult as result, user } from '../messages.ts';

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

interface Scope {
  /** Default: all messages have left the context. */
  readonly segments?: readonly Segment[];
  readonly from?: number;
  readonly to?: number;
  readonly most?: number;
}

function indexOf(entries: readonly LogEntry[]): LineIndex {
  const index = new LineIndex();
  runToEnd(index.add(entries));
  return index;
}

function matchIn(index: LineIndex, query: string, scope: Scope = {}): LineMatches {
  const segments = [segment('evicted', 1, Math.max(1, index.head))];
  return runToEnd(index.search(readRecallQuery(query), { segments, from: 1, to: index.head, most: 100, ...scope }));
}

/** Searches a log as the tool does: by the index, and then by the texts of the best messages. */
function search(query: string, entries: readonly LogEntry[], scope: Scope = {}) {
  const matches = matchIn(indexOf(entries), query, scope);
  const matched = new Map<number, MatchedMessage>(
    matches.messages.map((found) => [
      found.seq,
      runToEnd(matchMessage(entries[found.seq - 1] as LogEntry, readRecallQuery(query), { ...matches, found })),
    ]),
  );
  const ranked = rankMatched(matched.values()).filter(({ isMatch }) => isMatch);
  const lines = ranked.map(({ seq, line }) => {
    const { lines: read, places } = matched.get(seq) as MatchedMessage;
    return { seq, text: read.text.slice(...(places[line] as [number, number])) };
  });
  return { lines, seqs: [...new Set(ranked.map(({ seq }) => seq))], matches };
}

const find = (query: string, messages: readonly Message[], scope?: Scope): number[] =>
  search(query, logOf(messages), scope).seqs;

const linesOf = (query: string, texts: readonly string[], scope?: Scope): string[] =>
  search(query, logOf(texts.map((text) => user(text))), scope).lines.map(({ seq, text }) => `${seq}: ${text}`);

describe('a search of the recall tool', () => {
  test.each([
    [
      'the whole query first, then more of its words before fewer',
      'blue whale song',
      ['song', 'a whale: blue', 'Blue Whale Songs', 'cat'],
      [3, 2, 1],
    ],
    ['a rare word before a frequent word', 'order 4711', ['an order', 'an order', '4711', 'an order'], [3, 4, 2, 1]],
    ['the newest of equal matches first', 'tide', ['tide one', 'no', 'TIDE two', 'low tide'], [4, 3, 1]],
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

  test('a recall search ignores earlier calls of the recall tool and their results, even if messages lie between call and result', () => {
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
    const searchAt = (tokens: number) => search('fox', logOf(messages, tokens), { segments });
    expect(searchAt(MASK_TOKENS + 1).seqs).toEqual([4, 3, 2]);
    // A tool result that is no larger than its placeholder is not replaced.
    expect(searchAt(MASK_TOKENS).seqs).toEqual([4, 2]);
    const present = search('owl', logOf([user('owl'), user('fox'), user('an owl')]), {
      segments: [segment('evicted', 2, 2)],
    });
    expect([present.matches.areArchived, present.seqs]).toEqual([false, [3, 1]]);
    expect(search('bat', logOf(messages), { segments }).seqs).toEqual([]);
  });

  test('a recall search ranks the lines of messages, and counts all that match', () => {
    const texts = ['a cat\na heron and a fox\na dog', 'heron\n\nfox', 'the fox'];
    expect(linesOf('heron fox', texts)).toEqual(['1: a heron and a fox', '2: heron', '2: fox', '3: the fox']);
    const many = logOf(Array.from({ length: 50 }, (_, at) => user(`heron ${at}`)));
    const { matches } = search('heron', many, { most: 3 });
    expect(matches.messages.map(({ seq }) => seq)).toEqual([50, 49, 48]);
    expect(matches.count).toBe(50);
    expect(search('heron', many, { from: 2, to: 3 }).seqs).toEqual([3, 2]);
  });

  test('a recall search finds a line of arguments that the model wrote with line breaks', () => {
    const write = call('c1_0', 'write', JSON.stringify({ path: 'a.ts', text: 'first\nthe heron\nlast' }));
    expect(search('heron', logOf([write])).lines).toEqual([{ seq: 1, text: 'the heron' }]);
  });

  test('a recall search returns only a few equal lines of one message, so that lines of other messages are found too', () => {
    const dump = Array.from({ length: 500 }, (_, at) => `heron ${at}`).join('\n');
    expect(find('heron', [user('a heron'), user(dump)], { most: 20 })).toEqual([2, 1]);
  });

  test('a recall search ignores a word that occurs in many lines if the query has a rarer word', () => {
    const messages = Array.from({ length: 2_000 }, (_, at) => user(at % 2 === 0 ? 'the fox' : 'a dog'));
    messages[700] = user('an owl');
    expect(find('the owl', messages)).toEqual([701]);
    expect(search('the', logOf(messages)).matches.count).toBe(999);
  });

  test('a recall search finds the exact query in a line that the index ranks behind others', () => {
    const texts = ['x blue whale y', ...Array.from({ length: 20 }, (_, at) => `whale ${at} blue`)];
    expect(linesOf('blue whale', texts)[0]).toBe('1: x blue whale y');
    // The query may go on in the next line.
    expect(linesOf('whale blue', ['blue\nwhale', 'a whale\nblue'])[0]).toBe('2: blue');
    expect(linesOf('whale\nblue', ['blue\nwhale', 'a whale\nblue'])[0]).toBe('2: a whale');
  });

  test('a recall index that grows finds the same lines as one that is built at once', () => {
    const entries = logOf(Array.from({ length: 60 }, (_, at) => user(`heron ${at % 7}\nfox ${at % 5} and ${at}`)));
    const grown = new LineIndex();
    for (const entry of entries) runToEnd(grown.add([entry]));
    for (const query of ['heron 3', 'fox 4 and 44', '9', 'none']) {
      expect(matchIn(grown, query)).toEqual(matchIn(indexOf(entries), query));
    }
    expect([grown.head, grown.bytesOf(7), grown.bytesOf(61)]).toEqual([60, 40, 0]);
  });

  test('a recall index that starts behind the first message still uses the message numbers of the log', () => {
    const index = new LineIndex(41);
    runToEnd(index.add(logOf(Array.from({ length: 60 }, (_, at) => user(`heron ${at + 1}`))).slice(40)));
    expect(index.head).toBe(60);
    expect(matchIn(index, 'heron', { from: 1, to: 42 }).messages.map(({ seq }) => seq)).toEqual([42, 41]);
    expect(matchIn(index, 'heron', { from: 1, to: 9 }).messages).toEqual([]);
  });

  test('a recall search leaves out a message that is added while the search runs', () => {
    const index = indexOf(logOf([user('heron')]));
    const [, next] = logOf([user(''), user('heron and more words\n'.repeat(4_000))]);
    const adding = index.add([next as LogEntry]);
    adding.next();
    expect(matchIn(index, 'heron').count).toBe(1);
    runToEnd(adding);
    expect(matchIn(index, 'heron').count).toBe(4_001);
  });
});

describe('the text of a line that the recall tool returns', () => {
  test('a recall search finds its word after any Unicode characters', () => {
    for (let first = 0; first < 0x110000; first += 0x400) {
      const codePoints = Array.from({ length: 0x400 }, (_, index) => first + index);
      const text = `${String.fromCodePoint(...codePoints)}|NEEDLE|`;
      const [line] = linesOf('needle', [text]);
      // A long line may be cut in front of the word.
      expect(line?.endsWith('NEEDLE|'), first.toString(16)).toBe(true);
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

  test('a recall query copied from a message finds that message, and each line it returns holds a query word', () => {
    const cases = fc.record({
      texts: fc.array(texts, { minLength: 1, maxLength: 8 }),
      at: fc.nat(),
      from: fc.nat(),
      to: fc.nat(),
    });
    let hits = 0;
    fc.assert(
      fc.property(cases, ({ texts: given, at, from, to }) => {
        const source = Array.from((given[at % given.length] as string).normalize('NFC').toWellFormed());
        const start = from % (source.length + 1);
        const query = source.slice(start, start + 1 + (to % 20)).join('');
        if (query.trim() === '') return;
        const { words, exacts } = readRecallQuery(query);
        const found = search(query, logOf(given.map((text) => user(text))));
        // A single ASCII sign is on nearly every line, so it is no word of the index.
        if (words.length > 0) expect(found.seqs).toContain((at % given.length) + 1);
        for (const { text } of found.lines) {
          expect(text.isWellFormed()).toBe(true);
          const begins = [...words.map((word) => word.text), ...exacts.map((exact) => exact.text.slice(0, 1))];
          expect(begins.some((word) => fold(text).includes(word))).toBe(true);
          hits += 1;
        }
      }),
      { numRuns: 2_000 },
    );
    expect(hits).toBeGreaterThan(1_000);
  });
});
