import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { authenticateByKey } from '../../src/api/http/caller.ts';
import { compact, type Fixture, openFixture } from '../client/fixture.ts';
import { hasTraces, readConversationFiles } from '../wire/traces.ts';
import { chromium, findViolations, holdAnswer, useInspector } from './inspector-page.ts';

const CONVERSATION = 'coding-session';
const canRun = chromium !== undefined && hasTraces;

/** The longest recorded conversation of a coding agent, with about 1,000 messages. */
function readRecorded() {
  const { conversations = [] } = readConversationFiles().find(({ name }) => name === 'coding_pi') ?? {};
  const [longest] = conversations.toSorted((one, other) => other.messages.length - one.messages.length);
  if (longest === undefined) throw new Error('the recorded conversations have no file coding_pi');
  return longest.messages;
}

describe.skipIf(!canRun)('the inspector (skipped without chromium and ../shared/traces)', () => {
  const inspector = useInspector();
  let fixture: Fixture;
  let head = 0;

  beforeAll(async () => {
    fixture = await openFixture();
    await fixture.startWorkers();
    const messages = readRecorded();
    const half = Math.floor(messages.length / 2);
    for (const part of [messages.slice(0, half), messages.slice(half)]) {
      await fixture.client.append({ conversation: CONVERSATION, agent: 'talker', messages: part });
      await compact(fixture, CONVERSATION);
    }
    const said = await fixture.client.enqueueTurn({ conversation: CONVERSATION, agent: 'talker', input: 'thank you' });
    await fixture.client.result(CONVERSATION, said.turn, { waitMs: 60_000 });
    ({ head } = await fixture.client.describe(CONVERSATION));
    const { turn } = await fixture.client.enqueueTurn({ conversation: 'asks', agent: 'talker', input: 'call ask' });
    const reachWait = async () => expect((await fixture.client.result('asks', turn)).state).toBe('waiting');
    await vi.waitFor(reachWait, 60_000);
  });
  afterAll(() => fixture.close());

  test('a person finds a conversation by a part of its id and by its state, using only the keyboard', async () => {
    const { page, go } = await inspector.open(fixture.client);
    await go('/');
    await page.getByRole('row').nth(2).waitFor();
    expect(await findViolations(page)).toEqual([]);

    await page.getByRole('button', { name: 'waiting' }).click();
    await page.getByText('waits for tools').waitFor();
    await expect.poll(() => page.locator('tbody tr').count()).toBe(1);
    await page.getByRole('button', { name: 'all' }).click();
    await page.getByLabel('Find by id').fill('session');
    await page.getByRole('link', { name: CONVERSATION }).waitFor();
    await expect.poll(() => page.locator('tbody tr').count()).toBe(1);
    await page.getByRole('link', { name: CONVERSATION }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: CONVERSATION }).waitFor();

    await go('/?id=nothing-has-this-id');
    await page.getByText('No conversation has these properties').waitFor();
    expect(await findViolations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Show all conversations' }).click();
    await page.keyboard.press('Tab');
    await expect.poll(() => page.locator('tbody tr').count()).toBe(2);
    const rows = page.locator('[data-row]');
    await rows.first().focus();
    await page.keyboard.press('j');
    const second = await rows.nth(1).textContent();
    await expect.poll(() => page.evaluate('document.activeElement?.textContent')).toBe(second);
  });

  test('the gauge shows the figures of the breakdown, and a click on a part lists its largest entries', async () => {
    const { page, go } = await inspector.open(fixture.client);
    await go(`/c/${CONVERSATION}`);
    const { window, categories } = await fixture.client.breakdown(CONVERSATION);
    const exact = new Intl.NumberFormat('en-US').format(window.usedTokens);
    await page.getByTitle(`${exact} tokens`, { exact: true }).first().waitFor();
    const results = categories.find(({ name }) => name === 'results');
    const part = page.locator('.category', { hasText: 'Tool results' });
    await part.locator('summary').click();
    expect(await part.locator('.largest-entry').count()).toBe(results?.largest.length);
    expect(await findViolations(page)).toEqual([]);
    await part.locator('.largest-entry').first().click();
    await page.locator('.timeline-row.is-active', { hasText: String(results?.largest[0]?.seq) }).waitFor();
  });

  test('the timeline shows every version and the state of each message, and opens a message in full', async () => {
    const { page, go } = await inspector.open(fixture.client);
    const versions = await fixture.client.versions(CONVERSATION);
    const [first] = versions;
    expect(versions.length).toBeGreaterThan(1);
    await go(`/c/${CONVERSATION}?seq=${first?.measuredAt.head ?? 0}`);
    await page.locator('.divider', { hasText: `v1 · ${first?.archived ?? 0} messages → ` }).waitFor();

    await page.getByRole('listbox', { name: 'Messages of the log' }).focus();
    await page.keyboard.press('Home');
    await page.locator('.timeline-row.is-active .row-seq', { hasText: /^1$/ }).waitFor();
    const { entries } = await fixture.client.outline(CONVERSATION, { limit: 40 });
    const gone = entries.find(({ state }) => state === 'summarized' || state === 'archived');
    await page.locator(`.timeline-row .is-${gone?.state}`).first().waitFor();

    await page.keyboard.press('Enter');
    const [entry] = await fixture.client.log(CONVERSATION, { limit: 1 });
    await expect.poll(() => page.locator('dialog pre').first().textContent()).toBe(entry?.message.content);
    expect(await findViolations(page)).toEqual([]);
    await page.keyboard.press('j');
    await page.getByRole('heading', { name: 'Message 2' }).waitFor();
    await page.keyboard.press('Escape');
    await expect.poll(() => page.locator('dialog').count()).toBe(0);
    await page.keyboard.press('End');
    await page.locator('.timeline-row .row-seq', { hasText: new RegExp(`^${head}$`) }).waitFor();
  });

  test('a turn that a worker runs appears in the timeline without a reload', async () => {
    const { page, go } = await inspector.open(fixture.client);
    await fixture.client.append({
      conversation: 'live',
      agent: 'talker',
      messages: [{ role: 'user', content: 'an old message' }],
    });
    await go('/c/live');
    await page.locator('.timeline-row', { hasText: 'an old message' }).waitFor();
    await fixture.client.enqueueTurn({ conversation: 'live', agent: 'talker', input: 'good news' });
    await page.locator('.timeline-row', { hasText: 'heard good news' }).waitFor();
    await fixture.client.enqueueTurn({ conversation: 'live', agent: 'talker', input: 'call ask' });
    await page.getByText('turn waits for tools').waitFor();
    await expect.poll(() => page.locator('.timeline-row', { hasText: 'call ask' }).count()).toBe(1);
  });

  test('figures and rows that were read before the log grew are read again at once', async () => {
    const conversation = 'grows';
    const say = (content: string) =>
      fixture.client.append({ conversation, agent: 'talker', messages: [{ role: 'user', content }] });
    await say('the first message');
    const { page, go } = await inspector.open(fixture.client);
    const breakdown = await holdAnswer(page, '**/breakdown');
    const outline = await holdAnswer(page, '**/outline?*');
    await go(`/c/${conversation}`);
    await Promise.all([breakdown.isHeld, outline.isHeld]);
    await say(`the second message ${'and so on '.repeat(100)}`);
    await page.locator('.conversation-facts', { hasText: '2 messages' }).waitFor();
    await page.locator('.timeline-row').nth(1).waitFor();
    breakdown.release();
    outline.release();
    await page.locator('.timeline-row', { hasText: 'the second message' }).waitFor();
    const { window } = await fixture.client.breakdown(conversation);
    const exact = new Intl.NumberFormat('en-US').format(window.usedTokens);
    const figure = page.locator('.gauge-figure.is-main').getByTitle(`${exact} tokens`, { exact: true });
    await expect.poll(() => figure.count()).toBe(1);
  });

  test('the inspector reports a missing conversation and an unreachable server in words', async () => {
    const { page, go } = await inspector.open(fixture.client);
    await go('/c/missing');
    await page.getByRole('alert').filter({ hasText: 'not_found' }).waitFor();
    expect(await findViolations(page)).toEqual([]);
    await page.route('**/v1/**', (route) => route.abort());
    await go('/');
    await page.getByText('The server does not answer.').waitFor();
    await page.unroute('**/v1/**');
    await page.getByRole('link', { name: CONVERSATION }).waitFor();
    await expect.poll(() => page.getByRole('alert').count()).toBe(0);
  });

  test('the inspector asks a server with keys for nothing until a person enters a key, which stays in the tab', async () => {
    const { token } = await fixture.client.keys.create({ tenant: '_', scopes: ['read'] });
    const authenticate = authenticateByKey(fixture.client.keys);
    const { page, go } = await inspector.open(fixture.client, { app: { authenticate } });
    await go('/');
    const field = page.getByLabel('Access key', { exact: true });
    await field.waitFor();
    expect(await findViolations(page)).toEqual([]);
    await field.fill('wrong');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').filter({ hasText: 'the access key is not accepted' }).waitFor();
    await field.fill(token);
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: CONVERSATION }).waitFor();
    await page.reload();
    await page.getByRole('link', { name: CONVERSATION }).waitFor();
    await page.getByRole('button', { name: 'Forget the key' }).click();
    await field.waitFor();
  });

  test('a late refusal of an old key does not end the use of a new key', async () => {
    const scopes = ['read', 'answer'] as const;
    const create = async () => (await fixture.client.keys.create({ tenant: '_', scopes: [...scopes] })).token;
    const [old, next] = [await create(), await create()];
    const authenticate = authenticateByKey(fixture.client.keys);
    const { page, go } = await inspector.open(fixture.client, { app: { authenticate, isReadOnly: false } });
    const [open] = (await fixture.client.openTurns('asks', { limit: 1 })).turns;
    const field = page.getByLabel('Access key', { exact: true });
    await go(`/c/asks/t/${open?.turn ?? ''}`);
    await field.fill(old);
    await page.keyboard.press('Enter');
    const held = await holdAnswer(page, '**/answers');
    await page.getByLabel('Result (the model reads it)').fill('an answer');
    await page.getByRole('button', { name: 'Send the answer' }).click();
    await held.isHeld;
    await page.getByRole('button', { name: 'Forget the key' }).click();
    await field.fill(next);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'asks', exact: true }).waitFor();
    const refused = page.waitForResponse((response) => response.status() === 401);
    held.release({ status: 401, json: { status: 401, code: 'unauthorized', detail: 'the key is revoked' } });
    await (await refused).finished();
    await go('/');
    await page.getByRole('link', { name: CONVERSATION }).waitFor();
    expect(await field.count()).toBe(0);
  });

  test('a phone shows the list and the context in dark mode without horizontal scrolling', async () => {
    const context = { viewport: { width: 360, height: 740 }, colorScheme: 'dark' } as const;
    const { page, go } = await inspector.open(fixture.client, { context });
    for (const place of ['/', `/c/${CONVERSATION}`]) {
      await go(place);
      await page.locator('[data-row], .timeline-row:not(:has(.is-loading))').first().waitFor();
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
      expect(await findViolations(page)).toEqual([]);
    }
  });
});
