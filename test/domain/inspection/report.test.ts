import { describe, expect, test } from 'vitest';
import { compareIdentifiers, MAX_LISTED } from '../../../src/compaction/inspection/identifiers.ts';
import { findNewSummaries, frameReport, showRange, sumCost } from '../../../src/compaction/inspection/report.ts';
import { runToEnd } from '../../../src/domain/interruptible.ts';
import { type Segment, START_VERSION, type Version } from '../../../src/domain/version.ts';
import { toolResult, user } from '../messages.ts';
import { evicted, masked, raw, summary } from './segments.ts';

function version(number: number, segments: readonly Segment[], more: Partial<Version> = {}): Version {
  const made = { number, parent: number - 1, cause: 'pass' as const, base: segments.at(-1)?.to ?? 0 };
  return { ...START_VERSION, ...made, segments: [...segments], tokensBefore: 900, tokensAfter: 300, ...more };
}

describe('report of a version', () => {
  const parent = version(1, [summary(1, 4, 1), raw(5, 6)]);
  const next = version(2, [summary(1, 4, 1), evicted(5, 7), masked(8, 9), summary(10, 12, 2), raw(13, 14)], {
    durationMs: 41,
    at: 5,
    reasons: ['manual'],
    archived: 5,
  });

  test('the report about a version compares it with its parent over the same messages of the log', () => {
    expect(runToEnd(frameReport(next, parent))).toEqual({
      version: 2,
      parent: 1,
      cause: 'pass',
      reasons: ['manual'],
      at: 5,
      durationMs: 41,
      before: { messages: 11, tokens: 900 },
      after: { messages: 6, tokens: 300 },
      evicted: [{ from: 5, to: 7 }],
      shortened: [{ from: 8, to: 9 }],
    });
    expect(findNewSummaries(next)).toMatchObject([{ from: 10, to: 12 }]);
  });

  test('the report about a version whose parent is no longer stored compares it with the whole log', () => {
    const frame = runToEnd(frameReport(next, undefined));
    expect(frame.evicted).toEqual([{ from: 5, to: 7 }]);
    expect(frame.before).toEqual({ messages: 11, tokens: 900 });
  });

  test('the report about a restored version has no duration, because no compaction made the version', () => {
    expect(runToEnd(frameReport({ ...next, cause: 'restore' }, parent))).not.toHaveProperty('durationMs');
  });

  test('the cost of a version sums the model calls for its summaries, and is absent if no model wrote a summary', () => {
    const usage = { inputTokens: 100, outputTokens: 10, cachedTokens: 60, costMicros: 7 };
    expect(sumCost([{}, { usage }, { usage: { ...usage, cachedTokens: 0 } }])).toEqual({
      microdollars: 14,
      inputTokens: 200,
      outputTokens: 20,
      cachedTokens: 60,
    });
    expect(sumCost([{ usage: { ...usage, costMicros: 0 } }])).not.toHaveProperty('microdollars');
    expect(sumCost([{}])).toBeUndefined();
  });
});

describe('showRange, which shows a range of messages as a version has it', () => {
  const entries = ['kept', 'x'.repeat(200), 'also kept'].map((content, index) => ({
    seq: index + 4,
    message: toolResult('c', content),
    tokens: 50,
    bytes: 200,
    total: { tokens: 0, bytes: 0 },
    at: 0,
  }));

  test('showRange shows nothing for evicted messages, a placeholder for masked results, and leaves summaries out', () => {
    const shown = (...segments: readonly Segment[]) =>
      runToEnd(showRange(version(1, segments), { from: 4, to: 6 }, entries));
    expect(shown(evicted(1, 9))).toBe('');
    expect(shown(raw(1, 4), masked(5, 9))).toMatch(/^kept\n\[result masked.*message 5.*\n\[result masked/);
    expect(shown(summary(1, 5, 1), raw(6, 9))).toBe('also kept');
  });
});

describe('compareIdentifiers, which finds the identifiers that a summary kept or lost', () => {
  const compare = (contents: readonly string[], text: string, find?: string) =>
    runToEnd(compareIdentifiers({ messages: contents.map((content) => user(content)), from: 11, text, find }));
  const texts = (found: readonly { text: string }[]): string[] => found.map(({ text }) => text).toSorted();

  test('compareIdentifiers lists each identifier as kept or lost, with the last message that contains it', () => {
    const fates = compare(['order W8732376 of Sofia', 'see src/a.ts', 'order W8732376 again'], 'The order W8732376.');
    expect(fates.kept).toEqual([{ text: 'W8732376', seq: 13 }]);
    expect(texts(fates.lost)).toEqual(['a.ts', 'src/a.ts']);
    expect(fates).toMatchObject({ keptCount: 1, lostCount: 2 });
  });

  test('compareIdentifiers ignores plain words, capitalized words and hyphenated words', () => {
    const fates = compare(['The customer reads a read-only page, 北京市 too'], '');
    expect(fates.lost).toEqual([]);
  });

  test('an identifier counts as kept inside a longer name of the summary, but not as a part of a word', () => {
    expect(texts(compare(['src/a.ts'], 'error at src/a.ts:12').kept)).toEqual(['a.ts', 'src/a.ts']);
    expect(texts(compare(['id 4711'], 'id 47112').lost)).toEqual(['4711']);
    expect(texts(compare(['id 4711'], 'id 94711').lost)).toEqual(['4711']);
  });

  test('a search for identifiers ignores upper and lower case, and finds identifiers beyond the listed ones', () => {
    const many = Array.from({ length: 500 }, (_, index) => `key_${index}`).join(' ');
    expect(compare([many], '')).toMatchObject({ lostCount: 500, keptCount: 0 });
    expect(compare([many], '').lost).toHaveLength(MAX_LISTED);
    expect(texts(compare([many], '', 'KEY_499').lost)).toEqual(['key_499']);
  });

  test('a search for identifiers ignores punctuation around the searched word, and also finds words that are not identifiers', () => {
    expect(texts(compare(['order #W8732376 of Sofia'], '', '#W8732376').lost)).toEqual(['W8732376']);
    expect(texts(compare(['order #W8732376 of Sofia'], 'Sofia called', ' sofia,').kept)).toEqual(['Sofia']);
    expect(texts(compare(['她住在北京市'], '', '「北京」').lost)).toEqual(['北京']);
    expect(compare(['order 17'], '', '##')).toMatchObject({ keptCount: 0, lostCount: 0 });
  });

  test('in a summary of 100,000 characters, an identifier counts as kept only if it stands alone', () => {
    const long = `${'nothing more to say '.repeat(6_000)} src/a.ts:12 src/b.ts `;
    const fates = compare(['src/a.ts src/b.ts'], long);
    expect(texts(fates.kept)).toEqual(['b.ts', 'src/b.ts']);
    expect(texts(fates.lost)).toEqual(['a.ts', 'src/a.ts']);
  });

  test('compareIdentifiers also reads tool results and the arguments of tool calls', () => {
    const call = {
      role: 'assistant' as const,
      content: '',
      toolCalls: [{ id: 'c', name: 'get', arguments: '{"id":"A-77"}' }],
    };
    const messages = [call, toolResult('c', 'user_id: mia_li_3668')];
    const { lost } = runToEnd(compareIdentifiers({ messages, from: 1, text: 'nothing' }));
    expect(texts(lost)).toEqual(expect.arrayContaining(['A-77', 'mia_li_3668', 'user_id']));
  });
});
