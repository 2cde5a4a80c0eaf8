import { describe, expect, test } from 'vitest';
import { readLedger } from '../../../src/compaction/evidence/ledger.ts';
import { measureLedger } from '../../../src/compaction/evidence/ledger-measures.ts';
import { shapeOf } from '../../../src/compaction/evidence/term-shape.ts';
import type { UseWeights } from '../../../src/compaction/evidence/use-features.ts';
import { FEATURE_NAMES, FEATURES, type Feature } from '../../../src/compaction/evidence/use-features.ts';
import { valueTerms } from '../../../src/compaction/evidence/use-probability.ts';
import { runToEnd } from '../../../src/domain/interruptible.ts';
import type { Message } from '../../../src/domain/message.ts';
import { toolResult, user } from '../messages.ts';

const say = (content: string): Message => ({ role: 'assistant', content });
const read = (path: string): Message => ({
  role: 'assistant',
  content: '',
  toolCalls: [{ id: 'c1_0', name: 'read', arguments: JSON.stringify({ path }) }],
});

function features(messages: readonly Message[], text: string): Record<Feature, number> {
  const ledger = runToEnd(readLedger(messages));
  const measures = runToEnd(measureLedger(ledger));
  const index = ledger.terms.findIndex((term) => term.text === text);
  const term = ledger.terms[index];
  if (term === undefined) throw new Error(`no term "${text}"`);
  const seen = { term, shape: shapeOf(text), index, measures };
  return Object.fromEntries(FEATURE_NAMES.map((name) => [name, FEATURES[name](seen)])) as Record<Feature, number>;
}

function values(messages: readonly Message[], weights?: UseWeights): Map<string, number> {
  const ledger = runToEnd(readLedger(messages));
  const found = runToEnd(valueTerms(ledger, weights));
  return new Map(ledger.terms.map(({ text }, index) => [text, found[index] ?? Number.NaN]));
}

/** A table in which one feature counts. */
function weigh(name: Feature, own: number, peers = 0): UseWeights {
  const none = FEATURE_NAMES.map((one) => [one, { own: 0, peers: 0 }]);
  return { bias: 0, features: { ...Object.fromEntries(none), [name]: { own, peers } } as UseWeights['features'] };
}

describe('the features of a term, which predict whether the agent will use the term', () => {
  test('the feature `age` of a term grows with the number of messages since the term last occurred', () => {
    const messages = [user('order W100'), say('ok'), say('W200')];
    expect(features(messages, 'W100').age).toBeCloseTo(Math.log(3));
    expect(features(messages, 'W200').age).toBe(0);
  });

  test('the feature `distanceIfOnce` measures the text after a term that occurs in only one message', () => {
    const messages = [user('order W100'), say('W200'), user(`W200 ${'long text '.repeat(140)}`)];
    expect(features(messages, 'W100').distanceIfOnce).toBeCloseTo(Math.log1p(1_409 / 700), 2);
    expect(features(messages, 'W200').distanceIfOnce).toBe(0);
  });

  test('the feature `called` says whether the agent used the term in a tool call', () => {
    const messages = [read('a.ts'), toolResult('c1_0', 'see b.ts')];
    expect(features(messages, 'a.ts').called).toBe(1);
    expect(features(messages, 'b.ts').called).toBe(0);
  });

  test('the feature `crowd` counts the terms of the last tool result that contains the term', () => {
    const messages = [read('a.ts'), toolResult('c1_0', 'one.ts'), toolResult('c1_0', 'one two six\none')];
    expect(features(messages, 'one').crowd).toBeCloseTo(Math.log1p(4));
    expect(features(messages, 'one.ts').crowd).toBeCloseTo(Math.log1p(2));
    expect(features(messages, 'a.ts').crowd).toBe(0);
  });

  test('the features of a term say whether the agent wrote the term, and whether a tool result contains the term or mentioned it first', () => {
    const messages = [user('W100'), toolResult('c1_0', 'W100 W200'), say('W200 W300')];
    expect(features(messages, 'W100')).toMatchObject({ said: 0, inResult: 1, fromResult: 0, occurrences: Math.log(3) });
    expect(features(messages, 'W200')).toMatchObject({ said: 1, inResult: 1, fromResult: 1, occurrences: Math.log(3) });
    expect(features(messages, 'W300')).toMatchObject({ said: 1, inResult: 0, fromResult: 0, length: Math.log(5) });
  });

  test('the feature `company` measures how much of the line of a term the agent used lately', () => {
    const result = toolResult('c1_0', 'W100 W200\nW300 W400\nW500');
    const messages = [result, read('W200'), say('Done.')];
    // W200 is in two messages, so it weighs 1/2. An absent term weighs 0.3.
    expect(features(messages, 'W100').company).toBeCloseTo(0.5 / 0.8);
    expect(features(messages, 'W300').company).toBe(0);
    expect(features(messages, 'W500').company).toBe(0);
    const later = Array.from({ length: 6 }, () => say('Done.'));
    expect(features([result, read('W200'), ...later], 'W100').company).toBe(0);
  });

  test('the features of a term count its share of uses as a key, and recognize plain words', () => {
    const messages = [user('status: open\nstatus')];
    expect(features(messages, 'status')).toMatchObject({ asKey: 0.5, plain: 1 });
    expect(features([user('Größe W100')], 'Größe').plain).toBe(0);
  });
});

describe('the values of terms (how likely the agent is to use each term)', () => {
  test('newly mentioned terms have a use value above the mean of comparable terms, and old terms have a use value below the mean', () => {
    const names = Array.from({ length: 60 }, (_, at) => `W${100 + at}`);
    const found = [...values([user(names.slice(0, 30).join(' ')), say(names.slice(30).join(' '))]).values()];
    const mean = found.reduce((sum, value) => sum + value, 0) / found.length;
    expect(found[0]).toBeLessThan(mean);
    expect(found.at(-1)).toBeGreaterThan(mean);
    expect(mean).toBeGreaterThan(0);
  });

  test('a file name that the agent used in a call has a higher value than another name of the same listing', () => {
    const listing = toolResult('c0_0', 'src/aaa.ts\nsrc/bbb.ts\nsrc/ccc.ts\nsrc/ddd.ts');
    const found = values([user('find it'), listing, read('src/ccc.ts'), toolResult('c1_0', 'export const x = 1;')]);
    expect(found.get('src/ccc.ts')).toBeGreaterThan(found.get('src/ddd.ts') ?? 0);
  });

  test('a term without comparable terms is valued against the mean of all terms of the source', () => {
    const found = values([user('order lamps W100')], weigh('plain', -4));
    expect(found.get('W100')).toBeGreaterThan(0);
    expect(found.get('order')).toBeLessThan(0);
  });

  test('a feature that all comparable terms share does not change their values, if its own weight and its mean’s weight cancel out', () => {
    const messages = [user('W100 W200'), say('W300 W400')];
    const found = [...values(messages, weigh('length', 3, -3)).values()];
    for (const value of found) expect(value).toBeCloseTo(found[0] as number, 9);
  });

  test('a source without text has no term values', () => {
    expect(runToEnd(valueTerms(runToEnd(readLedger([]))))).toHaveLength(0);
    expect(runToEnd(valueTerms(runToEnd(readLedger([user(''), say('')]))))).toHaveLength(0);
  });

  test('the use values of terms are finite numbers for every script', () => {
    for (const value of values([user('订单 Größe заказ ορος 주문서 W1.2')]).values())
      expect(value).toBeTypeOf('number');
    expect([...values([user('订单号 Größe заказ')]).values()].every(Number.isFinite)).toBe(true);
  });
});
