import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Fixture, openFixture } from '../client/fixture.ts';
import { chromium, holdAnswer, useInspector } from './inspector-page.ts';

describe.skipIf(chromium === undefined)('answers of the server in the inspector (skipped without Chromium)', () => {
  const inspector = useInspector();
  let fixture: Fixture;
  beforeAll(async () => {
    fixture = await openFixture();
    await fixture.startWorkers();
  });
  afterAll(() => fixture?.close());

  test('a search text keeps the blank at its end after a person pauses, and the person can type on', async () => {
    const { page, go } = await inspector.open(fixture.client);
    await go('/');
    const field = page.getByLabel('Find by id');
    const listed = page.waitForRequest((request) => /[?&]idContains=two(?:&|$)/.test(request.url()));
    await field.pressSequentially('two ');
    await listed;
    await field.pressSequentially('words');
    expect(await field.inputValue()).toBe('two words');
    await expect.poll(() => page.url()).toMatch(/[?&]id=two\+words$/);
  });

  test('a turn whose parts and end arrive together is shown whole, and not as live', async () => {
    const { client } = fixture;
    const { turn } = await client.enqueueTurn({ conversation: 'ended', agent: 'talker', input: 'thank you' });
    await client.result('ended', turn, { waitMs: 60_000 });
    const { page, go } = await inspector.open(client);
    const stream = await holdAnswer(page, `**/turns/${turn}/events`);
    await go(`/c/ended/t/${turn}`);
    await stream.isHeld;
    const status = page.getByLabel('Steps').getByRole('status');
    await expect.poll(() => status.textContent()).toBe('live');
    stream.release();
    await page.locator('.step-step').first().waitFor();
    await expect.poll(() => status.textContent()).toBe('');
  });

  test('a turn that runs alone for its fourth attempt is shown as such', async () => {
    const { client } = fixture;
    const { turn } = await client.enqueueTurn({ conversation: 'repeated', agent: 'talker', input: 'thank you' });
    await client.result('repeated', turn, { waitMs: 60_000 });
    const { page, go } = await inspector.open(client);
    await page.route('**/steps', (route) => route.fulfill({ json: { steps: [], claim: { attempts: 4 } } }));
    await go(`/c/repeated/t/${turn}`);
    const attempt = page.locator('div', { has: page.getByText('Attempt', { exact: true }) }).last();
    await expect.poll(() => attempt.textContent()).toBe('Attempt4');
  });
});
