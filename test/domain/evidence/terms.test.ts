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
  test('the terms of English prose are its words of three or more characters', () => {
    expect(termsOf('It is an order of 12 red lamps.')).toEqual(['order', 'red', 'lamps']);
  });

  test('the terms of a path are its words of three or more characters, the whole path and its file name', () => {
    expect(termsOf('see src/domain/ledger.ts:42')).toEqual([
      'see',
      'src',
      'domain',
      'ledger',
      'src/domain/ledger.ts:42',
      'ledger.ts:42',
    ]);
  });

  test('the terms of a path without a file extension include its last part only once', () => {
    expect(termsOf('src/domain')).toEqual(['src', 'domain', 'src/domain']);
  });

  test('the terms of Chinese text are pairs of neighbouring characters, and names between Chinese words stay whole', () => {
    expect(termsOf('请修改订单order_17。')).toEqual(['请修', '修改', '改订', '订单', 'order_17']);
  });

  test('the terms of Japanese, Korean and Thai text are pairs of neighbouring characters', () => {
    expect(termsOf('こんに')).toEqual(['こん', 'んに']);
    expect(termsOf('주문서')).toEqual(['주문', '문서']);
    expect(termsOf('คำสั่ง').length).toBeGreaterThan(0);
  });

  test('the long vowel mark belongs to its Japanese word', () => {
    expect(termsOf('タクシー')).toEqual(['タク', 'クシ', 'シー']);
  });

  test('the terms of German text are whole words with their umlauts', () => {
    expect(termsOf('Die Größe der Überschrift')).toEqual(['Die', 'Größe', 'der', 'Überschrift']);
  });

  test('the terms of Swift code include names of types and members', () => {
    expect(termsOf('let ctx: NSManagedObjectContext = store.viewContext')).toEqual([
      'let',
      'ctx',
      'NSManagedObjectContext',
      'store',
      'viewContext',
      'store.viewContext',
    ]);
  });

  test('the terms of SQL include tables, columns and values', () => {
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

  test('the terms of a log line include dates, levels, addresses and keys', () => {
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

  test('scanTerms reads no characters outside of its given range', () => {
    const terms: string[] = [];
    scanTerms('src/domain/ledger.ts', 4, 13, (term) => terms.push(term));
    expect(terms).toEqual(['domain', 'domain/le']);
  });

  test('the terms of a name with more than 120 characters are its words, without the whole name', () => {
    const words = Array.from({ length: 30 }, (_, index) => `word${index}`);
    expect(termsOf(words.join('.')).filter((term) => term.length > 120)).toEqual([]);
    expect(termsOf(words.join('.'))).toEqual(expect.arrayContaining(words));
  });

  test('more than three joining characters in a row, such as dots, separate terms', () => {
    expect(termsOf('one....two')).toEqual(['one', 'two']);
    expect(termsOf('a::bcd')).toEqual(['bcd', 'a::bcd']);
  });

  test('no term contains an emoji or half of a surrogate pair', () => {
    expect(termsOf('ship 🚀 it🚀now')).toEqual(['ship', 'now']);
  });
});
