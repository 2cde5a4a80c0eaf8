import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AppendInput } from '../../src/api/client/index.ts';
import { type Fixture, openFixture } from '../client/fixture.ts';
import { chromium, findViolations, useInspector } from './inspector-page.ts';

const CONVERSATION = 'hostile';
const MARK = 'document.title = "hacked"';
const IMAGE = `<img src="/x" onerror='${MARK}'>`;
const TEXTS = [
  `<script>${MARK}</script>`,
  IMAGE,
  `<svg/onload='${MARK}'><a href="javascript:${MARK}">click</a>`,
  '\u202Eright to left override, then \u2066isolate without an end',
  'العربية ثم English ثم עברית',
  '</pre></dialog></div><h1>outside</h1>',
  '{{constructor.constructor("alert(1)")()}} ${alert(1)} &lt;b&gt;',
  '\u0000\u0007\u001b[31mred\u001b[0m \uD800 half a character',
  'z\u0351\u036b\u0343\u036a\u0302'.repeat(2_000),
];
/** Characters of the line without a break. */
const LINE = 1_000_000;
const LENGTH = 10_000;

function writeMessages(): AppendInput['messages'] {
  const hostile = TEXTS.map((content) => ({ role: 'user' as const, content }));
  const call = { id: 'c', name: IMAGE, arguments: JSON.stringify({ html: IMAGE }) };
  const special: AppendInput['messages'] = [
    ...hostile,
    { role: 'assistant', content: '', toolCalls: [call] },
    { role: 'tool', content: TEXTS[0] ?? '', toolCallId: 'c', isError: true },
    { role: 'user', content: 'x'.repeat(LINE) },
  ];
  const plain = Array.from({ length: LENGTH - special.length }, (_, index) => ({
    role: index % 2 === 0 ? ('assistant' as const) : ('user' as const),
    content: `message ${index} ${IMAGE}`,
  }));
  return [...special, ...plain];
}

describe.skipIf(chromium === undefined)('a hostile conversation (skipped without chromium)', () => {
  const inspector = useInspector();
  let fixture: Fixture;

  beforeAll(async () => {
    fixture = await openFixture();
    const messages = writeMessages();
    for (let from = 0; from < LENGTH; from += 2_500) {
      const part = messages.slice(from, from + 2_500);
      await fixture.client.append({ conversation: CONVERSATION, agent: IMAGE.replaceAll(/\W/g, ''), messages: part });
    }
  });
  afterAll(() => fixture.close());

  test('every text of a hostile conversation shows as plain text, in the list of the log and in full', async () => {
    const { page, go } = await inspector.open(fixture.client);
    await go(`/c/${CONVERSATION}?seq=1`);
    for (const [index, text] of TEXTS.entries()) {
      const row = page.locator('.timeline-row', {
        has: page.locator('.row-seq', { hasText: new RegExp(`^${index + 1}$`) }),
      });
      await row.locator('.row-text').waitFor();
      await row.click();
      const shown = (await fixture.client.log(CONVERSATION, { after: index, limit: 1 }))[0]?.message.content;
      await expect.poll(() => page.locator('dialog pre').textContent()).toBe(shown);
      expect(shown?.length).toBe(text.length);
      await page.keyboard.press('Escape');
      await expect.poll(() => page.locator('dialog').count()).toBe(0);
    }
    expect(await page.locator('main img, main script, main iframe, main [onerror], main [onload]').count()).toBe(0);
    expect(await page.locator('h1').allTextContents()).toEqual([CONVERSATION]);
    expect(await page.title()).not.toBe('hacked');
    expect(await findViolations(page)).toEqual([]);
  });

  test('a line of a million characters shows its start, and opens whole on request', async () => {
    const { page, go } = await inspector.open(fixture.client);
    await go(`/c/${CONVERSATION}?seq=${TEXTS.length + 3}`);
    await page.locator('.timeline-row.is-active .row-text').click();
    const text = page.locator('dialog pre');
    await text.waitFor();
    expect((await text.textContent())?.length).toBeLessThan(LINE);
    await page.getByRole('button', { name: 'Show all 1,000,000 characters' }).click();
    await expect.poll(async () => (await text.textContent())?.length).toBe(LINE);
    const widths = await page.evaluate<number[]>('[document.documentElement.scrollWidth, innerWidth]');
    expect(widths[0]).toBe(widths[1]);
  });

  test('the page draws only the visible rows of 10,000 messages, and a fast scroll loads only the rows where it ends', async () => {
    const { page, go, takeRequests } = await inspector.open(fixture.client);
    await go(`/c/${CONVERSATION}`);
    await page.locator('.row-seq', { hasText: /^10000$/ }).waitFor();
    await page.locator('.timeline-row:not(:has(.is-loading))').first().waitFor();
    expect(await page.locator('.timeline-row').count()).toBeLessThan(100);
    takeRequests();
    const frame = '.timeline-frame';
    const scroll = `(async () => {
      const frame = document.querySelector('${frame}');
      for (let step = 0; step <= 200; step += 1) {
        frame.scrollTop = frame.scrollHeight * (1 - step / 200);
        await new Promise(requestAnimationFrame);
      }
    })()`;
    await page.evaluate(scroll);
    await page.locator('.row-seq', { hasText: /^1$/ }).waitFor();
    await page.locator('.timeline-row', { hasText: '<script>' }).first().waitFor();
    const pages = takeRequests().filter((path) => path.includes('/outline'));
    // The log has 50 pages. A busy machine draws few frames, so that some pages on the way are asked for.
    expect(pages.length).toBeLessThan(25);
    expect(await page.locator('.timeline-row').count()).toBeLessThan(100);
  });
});
