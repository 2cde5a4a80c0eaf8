import { describe, expect, test } from 'vitest';
import { findRuleSign } from '../../../src/compaction/evidence/rule-signs.ts';

describe('signs of a rule in a sentence', () => {
  test.each([
    'Never touch the folder legacy/quavex, another team owns it.',
    'Only fly after 11 AM, please.',
    'Das Budget darf höchstens 300 Euro sein.',
    'Nunca borres los clientes.',
    'Ne change jamais le port.',
    '不要删除订单。',
    '予算は一万円以内でお願いします。',
    'Не трогай старые файлы.',
    'Keep it under $50.',
    'IMPORTANT: the label is QA-7.',
  ])('a sentence that forbids, demands or limits is binding: %s', (sentence) => {
    expect(findRuleSign(sentence)).toBe('binding');
  });

  test.each([
    'I would like the blue shirt.',
    'Ich möchte einen Fensterplatz.',
    'Quiero una mesa.',
    '窓側の席が欲しいです。',
    '请帮我订票。',
  ])('a sentence that asks for something is a wish: %s', (sentence) => {
    expect(findRuleSign(sentence)).toBe('wished');
  });

  test.each([
    'The order was shipped on Monday.',
    'Der Bericht liegt im Ordner.',
    'El cielo es azul.',
    '今天天气很好。',
  ])('a sentence that states a fact has no sign of a rule: %s', (sentence) => {
    expect(findRuleSign(sentence)).toBeUndefined();
  });
});
