import { beforeAll, expect, it } from 'vitest';
import { type BpeTokenCounter, loadTokenCounter } from '../../../src/wire/tokens/token-counter.ts';
import { clipUserText } from '../../../src/workers/summarization/clip-user-text.ts';

let counter: BpeTokenCounter;

beforeAll(async () => {
  counter = await loadTokenCounter('o200k_base');
});

async function clip(text: string, maxTokens: number): Promise<string> {
  return await clipUserText(counter, { seq: 1, text }, maxTokens);
}

it('a clipped message of several sentences has whole sentences before and behind the gap', async () => {
  const sentences = Array.from({ length: 20 }, (_, index) => `This is sentence ${index} about the shop.`);
  const [start = '', end = ''] = (await clip(sentences.join(' '), 80)).replace(/^1: /, '').split(' … ');
  for (const part of [start, end]) {
    expect(part).toMatch(/^This is sentence .*shop\.$/);
    expect(sentences.join(' ')).toContain(part);
  }
});

it('a clipped sentence is not joined with its own end', async () => {
  const request =
    'Take a look at issue #266 of the tracker and tell me whether anything in the new release of the parser could have broken it and why';
  expect(await clip(request, 20)).toMatch(/^1: Take a look at issue #266 [\w ]+ …$/);
});

it('a clipped sentence in Chinese that is too long ends with a whole word, and shows no second half of the sentence', async () => {
  const chinese =
    '请把我的订单改到上海的新地址然后再把发票寄给财务部门因为我们下个月要搬家所以请务必在搬家之前处理完毕谢谢';
  const text = await clip(chinese, 40);
  const words = new Set(
    [...new Intl.Segmenter(undefined, { granularity: 'word' }).segment(chinese)].map(({ index }) => index),
  );
  const [start = '', ...others] = text.replace(/^1: /, '').split(' …');
  expect(start.length).toBeGreaterThan(8);
  expect(words.has(start.length), start).toBe(true);
  expect(others).toEqual(['']);
});

it('a clipped long text without ends of sentences begins and ends with whole words, also in Chinese', async () => {
  const chinese = '请把我的订单改到上海的新地址然后再把发票寄给财务部门因为我们下个月要搬家'.repeat(40);
  const text = await clip(chinese, 120);
  const words = new Set(
    [...new Intl.Segmenter(undefined, { granularity: 'word' }).segment(chinese)].map(({ index }) => index),
  );
  const [start = '', end = ''] = text.replace(/^1: /, '').split(' … ');
  expect(start.length).toBeGreaterThan(4);
  expect(words.has(start.length), start).toBe(true);
  expect(end.length).toBeGreaterThan(4);
  expect(words.has(chinese.length - end.length), end).toBe(true);
});
