import { describe, expect, test } from 'vitest';
import { scanTerms } from '../../../src/compaction/evidence/terms.ts';

function termsOf(text: string): string[] {
  const terms: string[] = [];
  scanTerms(text, 0, text.length, (term, start, end) => {
    expect(text.slice(start, end)).toBe(term);
    terms.push(term);
  });
  return terms;
}

describe('the terms of a text', () => {
  test('are the words of three characters or more in English prose', () => {
    expect(termsOf('It is an order of 12 red lamps.')).toEqual(['order', 'red', 'lamps']);
  });

  test('are the parts, the whole and the file name of a path', () => {
    expect(termsOf('see src/domain/ledger.ts:42')).toEqual([
      'see',
      'src',
      'domain',
      'ledger',
      'src/domain/ledger.ts:42',
      'ledger.ts:42',
    ]);
  });

  test('do not repeat the last part of a path that has no extension', () => {
    expect(termsOf('src/domain')).toEqual(['src', 'domain', 'src/domain']);
  });

  test('are pairs of neighbours in Chinese, and names between Chinese words', () => {
    expect(termsOf('请修改订单order_17。')).toEqual(['请修', '修改', '改订', '订单', 'order_17']);
  });

  test('are pairs of neighbours in Japanese, Korean and Thai', () => {
    expect(termsOf('こんに')).toEqual(['こん', 'んに']);
    expect(termsOf('주문서')).toEqual(['주문', '문서']);
    expect(termsOf('คำสั่ง').length).toBeGreaterThan(0);
  });

  test('are whole words with umlauts in German', () => {
    expect(termsOf('Die Größe der Überschrift')).toEqual(['Die', 'Größe', 'der', 'Überschrift']);
  });

  test('are type and member names in Swift', () => {
    expect(termsOf('let ctx: NSManagedObjectContext = store.viewContext')).toEqual([
      'let',
      'ctx',
      'NSManagedObjectContext',
      'store',
      'viewContext',
      'store.viewContext',
    ]);
  });

  test('are tables, columns and values in SQL', () => {
    expect(termsOf("SELECT o.total_cents FROM orders o WHERE o.id = 'A-1093'")).toEqual([
      'SELECT',
      'total_cents',
      'o.total_cents',
      'FROM',
      'orders',
      'WHERE',
      'o.id',
      '1093',
      'A-1093',
    ]);
  });

  test('are dates, levels, addresses and keys in a log line', () => {
    expect(termsOf('2024-05-01T10:00:07Z ERROR 10.0.0.12:8080 req=7f3a9c')).toEqual([
      '2024',
      '01T10',
      '07Z',
      '2024-05-01T10:00:07Z',
      'ERROR',
      '8080',
      '10.0.0.12:8080',
      'req',
      '7f3a9c',
    ]);
  });

  test('do not reach beyond the given range', () => {
    const terms: string[] = [];
    scanTerms('src/domain/ledger.ts', 4, 13, (term) => terms.push(term));
    expect(terms).toEqual(['domain', 'domain/le']);
  });

  test('are the words of a name that is longer than 120 characters, and not the whole', () => {
    const words = Array.from({ length: 30 }, (_, index) => `word${index}`);
    expect(termsOf(words.join('.')).filter((term) => term.length > 120)).toEqual([]);
    expect(termsOf(words.join('.'))).toEqual(expect.arrayContaining(words));
  });

  test('end at more than three joiners in a row', () => {
    expect(termsOf('one....two')).toEqual(['one', 'two']);
    expect(termsOf('a::bcd')).toEqual(['bcd', 'a::bcd']);
  });

  test('hold no emoji and no half of one', () => {
    expect(termsOf('ship 🚀 it🚀now')).toEqual(['ship', 'now']);
  });
});
