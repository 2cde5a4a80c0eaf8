import { describe, expect, test } from 'vitest';
import { isShortLine, splitSentences } from '../../../src/compaction/evidence/sentences.ts';

function sentencesOf(text: string): string[] {
  return [...splitSentences(text, 0, text.length)].map(([start, end]) => text.slice(start, end));
}

describe('the sentences of a text', () => {
  test('a Chinese sentence of fourteen characters stands alone, because it says as much as forty letters', () => {
    const sentences = [
      '这家酒店提供免费的无线网络服务。',
      '停车场也是免费的，但是需要提前预约。',
      '早餐从七点到十点。',
    ];
    expect(sentencesOf(sentences.join(''))).toEqual(sentences);
  });

  test('Japanese sentences end behind the closing quotation mark', () => {
    const sentences = ['係の人は「本日は満室でございます。」', 'それでも駐車場だけは使えるそうです。'];
    expect(sentencesOf(sentences.join(''))).toEqual(sentences);
  });

  test('German and Spanish sentences end behind their own marks', () => {
    const german = [
      'Der Kunde schrieb am Montag: „Bitte die Adresse ändern.“',
      ' Danach hat er nichts mehr gesagt, auch nicht am Telefon.',
    ];
    expect(sentencesOf(german.join(''))).toEqual(german);
    const spanish = [
      '¡Excelente elección para su nuevo plan de internet!',
      ' ¿Desea que le envíe también la factura de este mes?',
    ];
    expect(sentencesOf(spanish.join(''))).toEqual(spanish);
  });

  test('a long Chinese text without a full stop is divided behind a comma, else between words', () => {
    const clause = '我们下个月要搬到上海的新办公室去';
    const byCommas = sentencesOf(`${clause}，`.repeat(12));
    expect(byCommas.length).toBeGreaterThan(2);
    for (const part of byCommas) expect(part.endsWith('，')).toBe(true);
    const text = clause.repeat(12);
    const words = new Set(
      [...new Intl.Segmenter(undefined, { granularity: 'word' }).segment(text)].map(({ index }) => index),
    );
    let at = 0;
    for (const part of sentencesOf(text)) {
      expect(words.has(at), `${at}`).toBe(true);
      at += part.length;
    }
    expect(at).toBe(text.length);
  });

  test('a line of Chinese is short up to a third of the characters of an English line', () => {
    const isShort = (text: string): boolean => isShortLine(text, { start: 0, end: text.length }, 240);
    expect(isShort('word '.repeat(40))).toBe(true);
    expect(isShort('酒店'.repeat(40))).toBe(true);
    expect(isShort('酒店'.repeat(50))).toBe(false);
  });
});
