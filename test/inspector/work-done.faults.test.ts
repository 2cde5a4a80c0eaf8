import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openFixture } from '../client/fixture.ts';
import { chromium, findViolations, useInspector } from './inspector-page.ts';

function round(id: string, name: string, given: object, content: string) {
  return [
    { role: 'assistant' as const, content: '', toolCalls: [{ id, name, arguments: JSON.stringify(given) }] },
    { role: 'tool' as const, content, toolCallId: id },
  ];
}

const WORK = [
  { role: 'user' as const, content: 'Mend the pump.' },
  ...round('a', 'edit', { path: 'src/pump.ts', text: 'x' }, 'done'),
  ...round('b', 'bash', { command: 'npm test -- --run src/pump' }, '1 failed, 4 passed\nexit code 1'),
  ...round('c', 'edit', { path: 'src/a/long/folder/with/a/long/name/of-the-valve-of-the-pump.ts', text: 'x' }, 'done'),
  ...round(
    'd',
    'plan',
    {
      steps: [
        { step: 'Mend the pump', status: 'completed' },
        { step: 'Test it', status: 'open' },
      ],
    },
    'ok',
  ),
];

describe.skipIf(chromium === undefined)('the section "What was done"', () => {
  const inspector = useInspector();

  test('the page of a conversation names changed files, the last tests, tasks and calls, also on a phone', async () => {
    const fixture = await openFixture();
    onTestFinished(() => fixture.close());
    await fixture.client.append({ conversation: 'work', agent: 'coder', messages: WORK });
    await fixture.client.append({ conversation: 'talk', agent: 'coder', messages: WORK.slice(0, 1) });
    const { page, go } = await inspector.open(fixture.client);
    const section = page.locator('.work');
    await go('/c/work');
    await section.getByText('src/pump.ts', { exact: true }).waitFor();
    for (const text of [
      '2 changed files',
      '1 failed, 4 passed',
      ', before the last change',
      '1 of 2 closed',
      'Test it',
    ])
      expect(await section.getByText(text).count(), text).toBeGreaterThan(0);
    expect(await section.innerText()).toContain('3 worked, 1 failed');
    expect(await findViolations(page)).toEqual([]);
    const folder = process.env['WORK_PICTURES'];
    const takePicture = async (name: string): Promise<void> => {
      if (folder !== undefined) await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
    };
    await takePicture('desktop');
    await page.emulateMedia({ colorScheme: 'dark' });
    await takePicture('dark');
    expect(await findViolations(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 844 });
    await takePicture('phone');
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
    await section.getByRole('link', { name: 'Message 4', exact: true }).first().click();
    await expect.poll(() => page.url()).toContain('4');
    await go('/c/talk');
    await section.getByText('The agent has called no tool.').waitFor();
    await takePicture('empty');
  });
});
