import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Message } from '../../src/domain/message.ts';
import { findSubject, INCIDENTS, type IncidentScene, openIncidents } from './incidents.ts';
import { chromium, findViolations, useInspector } from './inspector-page.ts';
import { hasTraces, readText } from './recorded-log.ts';

describe.skipIf(chromium === undefined || !hasTraces)(
  'incidents in the browser (skipped without Chromium or ../shared/traces)',
  () => {
    const inspector = useInspector();
    let scene: IncidentScene;

    beforeAll(async () => {
      scene = await openIncidents();
    });
    afterAll(() => scene?.close());

    test.each(INCIDENTS.map((incident) => [incident.question, incident.source, incident.agent, incident] as const))(
      'the inspector answers the question: %s (%s, %s)',
      async (_question, _source, _agent, incident) => {
        const found = await scene.compacted(incident);
        const { conversation, log, outline } = found;
        const wanted = findSubject(found, incident) ?? '';
        expect(wanted, 'the recording has such an identifier').not.toBe('');
        const { page, go } = await inspector.open(scene.http.client);
        await go('/');
        // First click: the conversation.
        await page.getByRole('link', { name: conversation, exact: true }).click();
        // Second click: the search. Its hits already answer the question.
        const field = page.getByLabel('Find a word or id');
        await field.click();
        await field.pressSequentially(wanted);
        // Typing may pause under load: the first letters are then searched, too.
        await page.getByText(new RegExp(`hits? for “${RegExp.escape(wanted)}”, `)).waitFor();
        const fate = incident.answer === 'known' ? 'kept' : 'lost';
        const hit = page.locator('.hit', { has: page.getByText(fate, { exact: true }) }).first();
        const [toMessage, toVersion] = [hit.getByRole('link').first(), hit.getByRole('link').last()];
        const seq = Number(/seq=(\d+)/.exec((await toMessage.getAttribute('href')) ?? '')?.[1]);
        const version = Number(/[/]v[/](\d+)$/.exec((await toVersion.getAttribute('href')) ?? '')?.[1]);
        expect(readText(log[seq - 1] as Message)).toContain(wanted);
        expect(outline[seq - 1]).toMatchObject({ by: version });
        // Third click: the message.
        await toMessage.click();
        await page.locator('.timeline-row.is-active .row-seq', { hasText: new RegExp(`^${seq}$`) }).waitFor();
        expect(await hit.isVisible()).toBe(true);
      },
    );

    test('the search reports that it found nothing, searches again after an error, and fits a phone', async () => {
      const [incident] = INCIDENTS;
      if (incident === undefined) throw new Error('there is no incident');
      const { conversation } = await scene.compacted(incident);
      const context = { viewport: { width: 360, height: 740 } };
      const { page, go } = await inspector.open(scene.http.client, { context });
      await page.route('**/report?**', (route) => route.abort());
      await go(`/c/${conversation}?find=no-such-word`);
      await page.getByRole('alert').getByText('server_unavailable').waitFor();
      await page.unroute('**/report?**');
      await page.getByRole('alert').getByRole('button', { name: 'Try again' }).click();
      await page.getByText('No kept version changed a message with “no-such-word”').waitFor();
      await page.getByLabel('Find a word or id').fill('the');
      await page.locator('.hit').first().waitFor();
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
      expect(await findViolations(page)).toEqual([]);
    });
  },
);
