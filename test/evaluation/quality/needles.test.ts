import { describe, expect, test } from 'vitest';
import { Corpus, type Recording } from '../../../bench/context/quality/corpus.ts';
import { findNeedles } from '../../../bench/context/quality/needles.ts';
import { findPoint } from '../../../bench/context/quality/point.ts';
import type { Message } from '../../../src/domain/message.ts';
import { pointOf, round, says, user } from './conversation.ts';

const textsOf = (before: readonly Message[], after: readonly Message[]): string[] =>
  pointOf(before, after).needles.map(({ text }) => text);

describe('needles: identifiers that the agent uses after the cut and that a message before the cut contains', () => {
  const before = [user('fix the parser'), ...round({ path: 'src/parser' }, 'def parse_header(line): pass')];

  test('a needle is an identifier that the agent uses after the cut and that a message before the cut contains', () => {
    expect(textsOf(before, round({ path: 'src/parser' }, 'ok'))).toEqual(['src/parser']);
    expect(textsOf(before, [says('parse_header is fixed')])).toEqual(['parse_header']);
  });

  test('an identifier that only messages after the cut contain is not a needle', () => {
    expect(textsOf(before, round({ path: 'src/lexer' }, 'ok'))).toEqual([]);
  });

  test('an identifier that a user or tool mentions after the cut, before the agent uses it, is not a needle', () => {
    expect(textsOf(before, [user('look at src/parser again'), says('src/parser is open')])).toEqual([]);
  });

  test('an identifier that users or results mention but the agent never uses is not a needle', () => {
    expect(textsOf(before, [user('is parse_header right?'), says('yes')])).toEqual([]);
  });

  test('an identifier of the system prompt or the name of a tool is not a needle', () => {
    const system: Message = { role: 'system', content: 'Never touch src/parser.' };
    expect(textsOf([system, ...before], round({ path: 'src/parser' }, 'ok'))).toEqual([]);
    const tool = [...before, user('read_file failed'), ...round({ path: 'x' }, 'ok', 'read_file')];
    expect(textsOf(tool, [says('I call read_file')])).toEqual([]);
  });

  test('a part of a longer name in the source is not a needle', () => {
    expect(textsOf([user('see old_parse_header')], [says('call parse_header')])).toEqual([]);
  });

  test('a needle is used by the agent within 40 messages after the cut', () => {
    const filler = (count: number): Message[] => Array.from({ length: count }, () => says('next'));
    expect(textsOf(before, [...filler(39), says('src/parser')])).toEqual(['src/parser']);
    expect(textsOf(before, [...filler(40), says('src/parser')])).toEqual([]);
  });

  test('a needle records where it occurs: in user text or arguments, its age, and its number of messages', () => {
    const source = [user('order #W100 is late'), says('#W100 is on its way'), says('x'.repeat(200))];
    const [needle] = pointOf(source, round({ order: '#W100' }, 'ok')).needles;
    expect(needle).toMatchObject({ text: '#W100', kind: 'code', isFromUser: true, isInArgument: true, messages: 2 });
    expect(needle?.age).toBeGreaterThan(0.8);
  });

  test('a plain word is a needle only if the vocabulary marks this word as rare', () => {
    const messages = [user('the turbine overheats'), says('the turbine is checked')];
    const isRareWord = (word: string): boolean => word === 'turbine';
    expect(findNeedles(messages, 1, { isCommon: () => false, isRareWord })).toMatchObject([
      { text: 'turbine', kind: 'word', isInArgument: false },
    ]);
    expect(findNeedles(messages, 1, { isCommon: () => false, isRareWord: () => false })).toEqual([]);
  });
});

describe('the corpus of recordings, which knows common identifiers', () => {
  const recordings = Array.from({ length: 10 }, (_, index): Recording => {
    const own = `order_${index}`;
    const messages = [user(`${own} of basic_economy`), says(`${own} in basic_economy`)];
    return { id: `r${index}`, group: 'airline', messages };
  });

  test('the corpus marks identifiers in more than a fifth of a group as common, so that they are no needles', () => {
    const corpus = new Corpus(recordings);
    expect(corpus.isCommon('basic_economy', 'airline')).toBe(true);
    expect(corpus.isCommon('order_3', 'airline')).toBe(false);
    const point = findPoint(recordings[3] as Recording, 1, corpus);
    expect(point.needles.map(({ text }) => text)).toEqual(['order_3']);
  });

  test('an identifier of a group with few recordings is common if enough of all recordings contain it', () => {
    const corpus = new Corpus([...recordings, { id: 'x', group: 'other', messages: [user('zeta_one')] }]);
    expect(corpus.isCommon('basic_economy', 'other')).toBe(true);
  });

  test('the corpus marks no identifier as common if it has too few recordings', () => {
    const corpus = new Corpus(recordings.slice(0, 3));
    expect(corpus.isCommon('basic_economy', 'airline')).toBe(false);
  });
});

describe('controls: identifiers like the needles that the agent does not use', () => {
  test('each control is an unused identifier of the same kind as a needle and in as many messages', () => {
    const before = [user('files src/a and src/b, names left_one and right_one'), says('src/c is new')];
    const { needles, controls } = pointOf(before, [says('open src/a, not src/d')]);
    expect(needles.map(({ text }) => text)).toEqual(['src/a']);
    expect(['src/b', 'src/c']).toContain(controls[0]);
    expect(controls).toHaveLength(1);
  });

  test('an identifier that the agent uses later is never a control, even if the use comes after the counted 40 messages', () => {
    const before = [user('files src/a and src/b')];
    const filler = Array.from({ length: 45 }, () => says('next'));
    expect(pointOf(before, [says('src/a'), ...filler, says('src/b')]).controls).toEqual([]);
  });

  test('the choice of controls is the same in each run', () => {
    const names = Array.from({ length: 30 }, (_, index) => `name_${index}`);
    const choose = () => pointOf([user(names.join(' '))], [says('name_1 name_2 name_3')]).controls;
    expect(choose()).toHaveLength(3);
    expect(choose()).toEqual(choose());
  });
});
