import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Fixture } from '../client/fixture.ts';
import { hasTraces } from '../wire/traces.ts';
import { chromium, findViolations, holdAnswer, useInspector } from './inspector-page.ts';
import { HOSTILE, openScene } from './panels-scene.ts';

const WAIT_MS = 60_000;

describe.skipIf(chromium === undefined || !hasTraces)(
  'the panels of the inspector (skipped without Chromium or ../shared/traces)',
  () => {
    const inspector = useInspector();
    let scene: Fixture;
    beforeAll(async () => {
      scene = await openScene();
    });
    afterAll(() => scene?.close());

    async function open(place: string, isReadOnly = false, width = 1280): Promise<Page> {
      const context = { viewport: { width, height: 800 } };
      const opened = await inspector.open(scene.client, { app: { isReadOnly }, context });
      opened.page.setDefaultTimeout(WAIT_MS);
      await opened.go(place);
      return opened.page;
    }

    /** Opens another place of the same page. */
    async function follow(page: Page, place: string): Promise<void> {
      await page.evaluate(`location.hash = ${JSON.stringify(place)}`);
    }

    const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });

    test('a click on a lost identifier shows the message that has it', async () => {
      const page = await open('/c/retail/v/1');
      const lost = page.locator('.chips-lost .chip').first();
      const identifier = (await lost.locator('bdi').textContent()) ?? '';
      expect(await page.locator('.summary-text').textContent()).not.toContain(identifier);
      await lost.click();
      const mark = page.locator('.log-message.is-chosen .mark-chosen').first();
      await mark.waitFor();
      expect(await mark.textContent()).toBe(identifier);
      expect(await page.evaluate("document.activeElement.classList.contains('is-chosen')")).toBe(true);
      expect(await findViolations(page)).toEqual([]);
    });

    test('the request of a version obeys the rules of each provider, and its JSON can be searched', async () => {
      const page = await open('/c/retail/v/1?show=request');
      for (const format of ['Anthropic', 'OpenAI Chat', 'OpenAI Responses']) {
        await page.getByLabel(format, { exact: true }).check();
        await page.getByText(`The request keeps every rule of ${format}.`).waitFor();
      }
      await page.getByRole('searchbox').fill('raj_santos_9079');
      await button(page, 'Next').click();
      await page.locator('.json-line.is-found', { hasText: 'raj_santos_9079' }).waitFor();
      expect(await findViolations(page)).toEqual([]);
    });

    test('two versions are compared, and an opened change shows both summaries', async () => {
      const page = await open('/c/retail/versions');
      await button(page, 'Compare').click();
      await page.getByRole('heading', { name: 'From version 1 to version 2' }).waitFor();
      await page.getByRole('img', { name: /^Version 1: .*12 in summaries/ }).waitFor();
      await page.locator('.change-row summary', { hasText: 'another summary' }).click();
      await page.getByText('In version 1: summary').waitFor();
      await page.getByText('In version 2: summary').waitFor();
      expect(await findViolations(page)).toEqual([]);
    });

    test('the restore dialog shows what it will do and its command, and makes a version after the confirmation', async () => {
      const { client } = scene;
      const page = await open('/c/retail/v/1');
      await button(page, 'Restore version 1…').click();
      const dialog = page.getByRole('dialog', { name: 'Restore a version' });
      await dialog.getByText('turnfold restore retail --version 1 --keep').waitFor();
      await dialog.getByLabel('leave the context, except for pinned ones').check();
      await dialog.getByText('turnfold restore retail --version 1 --drop').waitFor();
      expect((await client.describe('retail')).size.version).toBe(2);
      await dialog.getByRole('button', { name: 'Restore a version' }).click();
      await page.getByRole('heading', { name: /^Version 3/ }).waitFor();
      expect(await client.describe('retail')).toMatchObject({ size: { version: 3 } });
      expect(await findViolations(page)).toEqual([]);
    });

    test('a restore is refused if another version became live while the dialog was open', async () => {
      const { client } = scene;
      const page = await open('/c/retail/v/1');
      await button(page, 'Restore version 1…').click();
      const made = await client.restore('retail', { version: 2, newer: 'keep' });
      await page.locator('.conversation-facts', { hasText: `version ${made.number}` }).waitFor();
      await page.getByRole('link', { name: `Version 2 →` }).waitFor({ state: 'attached' });
      const dialog = page.getByRole('dialog', { name: 'Restore a version' });
      await dialog.getByRole('button', { name: 'Restore a version' }).click();
      await dialog.getByText('conflict', { exact: true }).waitFor();
      expect((await client.describe('retail')).size.version).toBe(made.number);
    });

    test('the restore button is disabled until the live version is known', async () => {
      const page = await open('/c/missing');
      const held = await holdAnswer(page, '**/retail/versions');
      await follow(page, '/c/retail/v/1');
      await held.isHeld;
      await page.locator('.summary-part').first().waitFor();
      expect(await button(page, 'Restore version 1…').isDisabled()).toBe(true);
      held.release();
      await expect.poll(() => button(page, 'Restore version 1…').isEnabled()).toBe(true);
    });

    test('a fork to an id that exists fails in the dialog, and another id opens the new conversation', async () => {
      const page = await open('/c/retail/v/1');
      await button(page, 'Fork from version 1…').click();
      const dialog = page.getByRole('dialog');
      const confirm = dialog.getByRole('button', { name: 'Fork the conversation' });
      await dialog.getByLabel('Id of the new conversation').fill('hostile');
      await confirm.click();
      await dialog.getByText('conflict', { exact: true }).waitFor();
      await dialog.getByLabel('Id of the new conversation').fill('forked');
      await confirm.click();
      await page.getByRole('heading', { name: 'forked' }).waitFor();
      expect(await scene.client.describe('forked')).toMatchObject({ agent: 'shop' });
      expect(await findViolations(page)).toEqual([]);
    });

    test('with a read-only server, the inspector disables changes and says why, but still plans', async () => {
      const page = await open('/c/retail/v/1', true);
      await page.getByText('Start it with --allow-changes').waitFor();
      expect(await button(page, 'Restore version 1…').isDisabled()).toBe(true);
      await follow(page, '/c/retail/trial');
      await page.getByText(/planned in/).waitFor();
      expect(await findViolations(page)).toEqual([]);
    });

    test('the proposal form refuses a blank text with an error beside it, and an edited text is approved exactly as entered', async () => {
      const { client } = scene;
      await expect.poll(() => client.proposal('review'), { timeout: WAIT_MS }).toBeDefined();
      const page = await open('/c/review/versions');
      await page.getByRole('link', { name: 'Look at the proposal' }).click();
      const text = page.getByRole('textbox', { name: /^Summary of messages/ }).first();
      await text.fill('   ');
      await button(page, 'Approve with 1 edit').click();
      await page.getByRole('alert').getByText('invalid_input').waitFor();
      await text.fill('The customer ordered <b>W9672333</b>.');
      await button(page, 'Approve with 1 edit').click();
      await page.getByRole('heading', { name: /^Version 1/ }).waitFor();
      await page.locator('.summary-text', { hasText: 'The customer ordered <b>W9672333</b>.' }).waitFor();
      expect(await findViolations(page)).toEqual([]);
    });

    test('a late refusal is shown when a person looks at the proposal again, and the form is open again', async () => {
      const { client } = scene;
      await expect.poll(() => client.proposal('refused'), { timeout: WAIT_MS }).toBeDefined();
      const page = await open('/c/refused/proposal');
      await page.getByText('turnfold approve refused', { exact: true }).waitFor();
      const held = await holdAnswer(page, '**/proposals');
      const operations: string[] = [];
      const answers = [
        { status: 200, json: { operation: 'o', state: 'pending' } },
        { status: 422, json: { status: 422, code: 'summary_refused', detail: 'the text leaves out an order' } },
      ];
      await page.route('**/approve', async (route) => {
        operations.push(route.request().headers()['idempotency-key'] ?? '');
        await route.fulfill(answers[operations.length - 1] ?? {});
      });
      await page
        .getByRole('textbox', { name: /^Summary of messages/ })
        .first()
        .fill('another text');
      await page.getByText('turnfold approve refused --edits <file>', { exact: true }).waitFor();
      await button(page, 'Approve with 1 edit').click();
      await page.getByText('waits for a compaction worker').waitFor();
      held.release();
      expect(await button(page, 'Approve with 1 edit').isDisabled()).toBe(true);
      await button(page, 'Look again').click();
      await page.getByText('the text leaves out an order').waitFor();
      await expect.poll(() => button(page, 'Approve with 1 edit').isEnabled()).toBe(true);
      expect(operations).toEqual([operations[0], operations[0]]);
      expect(operations[0]).not.toBe('');
    });

    test('a trial requests a plan when it opens, and again when another version becomes live', async () => {
      const { client } = scene;
      const page = await open('/c/missing');
      const plans: string[] = [];
      page.on('request', (request) => void (request.url().endsWith('/compact') && plans.push(request.url())));
      const held = await holdAnswer(page, '**/conversations/retail');
      await follow(page, '/c/retail/trial');
      await held.isHeld;
      await page.getByText('What would the next compaction do?').waitFor();
      expect(plans).toEqual([]);
      held.release();
      await page.getByText(/planned in/).waitFor();
      expect(plans.length).toBe(1);
      await client.restore('retail', { version: 1, newer: 'keep' });
      await expect.poll(() => plans.length).toBe(2);
    });

    test('a trial with another budget shows another plan, changes nothing, and gives the policy as YAML', async () => {
      const page = await open('/c/quiet/trial');
      await page.getByRole('img', { name: /^Would be: .*summarized \d/ }).waitFor();
      const budget = page.getByRole('spinbutton', { name: 'Budget' });
      await budget.fill('90000');
      await page.getByText('No message would change.').waitFor();
      expect(await page.getByRole('region', { name: 'policy.yaml' }).textContent()).toContain('max_tokens: 90000\n');
      await budget.fill('0');
      await page.getByText('invalid_policy').waitFor();
      await budget.fill('1500');
      await page.locator('.run-row', { hasText: 'Summarized' }).first().click();
      await page
        .getByRole('dialog', { name: /^Messages/ })
        .locator('.log-message')
        .first()
        .waitFor();
      expect(await scene.client.versions('quiet')).toEqual([]);
      expect(await findViolations(page)).toEqual([]);
    });

    test('a turn is shown while it is written, and its form approves one call and answers another', async () => {
      const { client } = scene;
      const turn = { conversation: 'talk', turn: 't1' };
      await client.enqueueTurn({ ...turn, agent: 'shop', input: 'please call lookup,refund,courier' });
      const page = await open('/c/talk/t/t1');
      await page.getByText('The turn waits for a decision').waitFor();
      await page.getByLabel('Approve: a worker runs the call').check();
      await button(page, 'Send the answer').click();
      await page.getByText('The turn waits for results of tools').waitFor();
      await page.getByLabel('Result (the model reads it)').fill('on its way');
      await button(page, 'Send the answer').click();
      await page.getByText('Done: shipped, refunded, on its way.').waitFor();
      await page.getByText('completed', { exact: true }).waitFor();
      expect(await page.locator('.step-time').count()).toBe(5);
      expect(await findViolations(page)).toEqual([]);
    });

    test('every panel of a conversation fits a phone, and the page of a version marks the tab of the versions', async () => {
      const page = await open('/c/retail/versions', false, 360);
      const places: readonly (readonly [string, string, string])[] = [
        ['/c/retail/versions', '.compare', 'Versions'],
        ['/c/retail/v/1', '.summary-part', 'Versions'],
        ['/c/retail/v/1?show=request', '.json-line', 'Versions'],
        ['/c/retail/diff/1/2', '.change-row', 'Versions'],
        ['/c/refused/proposal', '.summary-edit', 'Versions'],
        ['/c/quiet/trial', '.run-row', 'What if'],
        ['/c/talk/turns', '[data-row], table', 'Turns'],
        ['/c/talk/t/t1', '.step-time', 'Turns'],
      ];
      for (const [place, part, tab] of places) {
        await follow(page, place);
        await page.locator(part).first().waitFor();
        expect(await page.evaluate('document.documentElement.scrollWidth'), place).toBe(360);
        expect(await page.locator('.tabs [aria-current]').allTextContents(), place).toEqual([tab]);
      }
    });

    test('texts that look like HTML are shown as text, and a line of 1 MB is shown in parts', async () => {
      const page = await open('/c/hostile/v/1');
      const message = page.getByRole('article', { name: 'Message 3, User' });
      await message.getByText(/^Show more/).click();
      expect((await message.textContent())?.length).toBeLessThan(50_000);
      await follow(page, '/c/hostile/v/1?show=request&format=turnfold');
      await page.locator('.json-line', { hasText: '<script>' }).first().waitFor();
      await follow(page, '/c/talk/t/t1');
      await page.getByText(HOSTILE.slice(0, 10)).first().waitFor();
      expect(await page.title()).not.toContain('hacked');
      expect(await page.locator('main img').count()).toBe(0);
      expect(await findViolations(page)).toEqual([]);
    });
  },
);
