import { describe, expect, test } from 'vitest';
import { findBrokenGuards, QualityScorer } from '../../../bench/context/quality/score.ts';
import { renderMessages } from '../../../src/evaluation/quality/searchable-text.ts';
import { pointOf, round, says, user } from './conversation.ts';

const before = [
  user('the checkout total is wrong for customer cust_881'),
  ...round({ path: 'src/cart.py' }, 'the discount is computed in apply_discount with rate 0.125'),
  ...round({ path: 'src/tax.py' }, 'the tax is computed in apply_tax with rate 0.190'),
];
const point = pointOf(before, [
  ...round({ path: 'src/cart.py' }, 'ok'),
  says('apply_discount is fixed for cust_881, the rate stays 0.125'),
]);
const scorer = new QualityScorer(point);

describe('the quality score of a context', () => {
  test('the quality score of the whole source is full recall without selectivity', () => {
    const score = scorer.score(point.sourceText);
    expect(score).toMatchObject({ recall: 1, rare: 1, inArguments: 1, anchored: 1, userWords: 1, invented: 0 });
    expect(score.selectivity).toBe(0);
  });

  test('the quality score of an empty context is zero', () => {
    const score = scorer.score('');
    expect(score).toMatchObject({ recall: 0, anchored: 0, userWords: 0, selectivity: 0, density: 0, invented: 0 });
  });

  test('the quality score rewards a context that keeps used identifiers and leaves out similar unused ones', () => {
    const score = scorer.score(
      'cart: discount computed in apply_discount of src/cart.py, rate 0.125, customer cust_881',
    );
    expect(score.recall).toBeGreaterThan(0.7);
    expect(score.selectivity).toBe(1);
  });

  test('the quality score is negative in selectivity for a context that keeps only identifiers that are never used again', () => {
    expect(scorer.score('tax is in apply_tax of src/tax.py, rate 0.190').selectivity).toBeLessThan(0);
  });

  test('the quality score does not count an identifier inside a longer word', () => {
    expect(scorer.score('cust_8812').recall).toBe(0);
  });

  test('the quality score has no value for a kind of needle that the conversation lacks', () => {
    const talk = pointOf([user('name_one is lost')], [says('name_one is found')]);
    expect(new QualityScorer(talk).score('name_one')).toMatchObject({
      inArguments: undefined,
      recall: expect.any(Number),
    });
  });

  test('the quality score counts an identifier as anchored only beside words of the source', () => {
    const bare = scorer.score('apply_discount src/cart.py cust_881');
    const told = scorer.score('the discount is computed in apply_discount');
    expect(bare.recall).toBeGreaterThan(0);
    expect(bare.anchored).toBe(0);
    expect(told.anchored).toBeGreaterThan(0);
  });

  test('the quality score reports the share of identifiers that the source does not contain', () => {
    expect(scorer.score('apply_discount and apply_coupon').invented).toBe(0.5);
  });
});

describe('guards, which reject a context that would score well without being useful', () => {
  const guardsOf = (context: string | typeof before, maxTokens = 100) => {
    const text = typeof context === 'string' ? context : renderMessages(context);
    const messages = typeof context === 'string' ? [] : context;
    const { sourceDensity } = scorer;
    return findBrokenGuards({ score: scorer.score(text), sourceDensity, tokens: 50, maxTokens, messages });
  };

  test('the guards accept the source itself as a context', () => {
    expect(guardsOf(before)).toEqual([]);
  });

  test('the guards refuse a bare list of identifiers', () => {
    expect(guardsOf('apply_discount src/cart.py cust_881 0.125')).toEqual(['anchored', 'density']);
  });

  test('the guards refuse a context above its budget', () => {
    expect(guardsOf(before, 49)).toEqual(['budget']);
  });

  test('the guards refuse a call without its result, and a result without its call', () => {
    expect(guardsOf(before.slice(0, 2))).toContain('rounds');
    expect(guardsOf(before.slice(2))).toContain('rounds');
  });

  test('the guards refuse invented identifiers', () => {
    expect(guardsOf('the discount is computed in apply_discount of the file src/other.py')).toContain('invented');
  });
});
