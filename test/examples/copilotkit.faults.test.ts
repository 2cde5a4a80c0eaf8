import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { agUiApp } from '../../src/api/http/ag-ui/ag-ui-app.ts';
import type { Agent } from '../../src/domain/agent.ts';
import type { ModelRequest } from '../../src/domain/model.ts';
import { type ScriptedOutcome, scriptedModel } from '../../src/providers/scripted.ts';
import { findChromium, openBrowser } from '../chat/page-browser.ts';
import { type Fixture, openFixture } from '../client/fixture.ts';
import { serveApp } from '../http/served-app.ts';

const FOLDER = join(import.meta.dirname, '../../examples/copilotkit');
const isBuilt = existsSync(join(FOLDER, 'dist/index.html')) && existsSync(join(FOLDER, 'node_modules'));
const chromium = findChromium();
const notesSchema = z.object({ state: z.object({ notes: z.array(z.string()) }).optional() });

/** Gate of the answer to `hold`, which streams a word before it waits. */
let gate = Promise.withResolvers<void>();

/** An agent for the example page. Its input names a tool and the arguments of the call. */
function createDeskAgent(): Agent {
  const input = z.looseObject({});
  return {
    name: 'desk',
    system: 'You sit at a desk.',
    policy: {},
    tools: [
      {
        name: 'take_note',
        description: 'adds a note',
        input: z.object({ note: z.string() }),
        run: async (given, { context, emit }) => {
          const { note } = given as { note: string };
          const { state = { notes: [] } } = notesSchema.parse(context);
          emit('state', { notes: [...state.notes, note] });
          return `noted ${note}`;
        },
      },
      { name: 'refund', description: 'refunds', input, needsApproval: true, run: async () => 'refunded' },
    ],
    model: scriptedModel({ decide }),
  };
}

function decide({ messages, system }: ModelRequest): ScriptedOutcome {
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  const results = messages.slice(asked + 1).filter(({ role }) => role === 'tool');
  if (results.length > 0) return { content: `Result: ${results.map(({ content }) => content).join(' | ')}` };
  const text = messages[asked]?.content ?? '';
  const [, name, written = '{}'] = /^call (\w+) ?(.*)$/.exec(text) ?? [];
  if (name !== undefined) return { toolCalls: [{ name, arguments: written }] };
  if (text === 'hold') return { content: hold() };
  if (text !== 'who am I') return { content: `heard ${text}` };
  const instructions = [system, ...messages.map(({ content }) => content)].join('\n');
  return { content: `You are ${/The person at the desk: (\w+)/.exec(instructions)?.[1] ?? 'unknown'}` };
}

async function* hold(): AsyncGenerator<string> {
  yield 'One ';
  await gate.promise;
  yield 'two.';
}

/** Starts the example's server. @returns its address, which it prints */
async function startExample(turnfold: string): Promise<{ readonly url: string; readonly process: ChildProcess }> {
  const env = { ...process.env, TURNFOLD_URL: turnfold, PORT: '0', COPILOTKIT_TELEMETRY_DISABLED: 'true' };
  const child = spawn(process.execPath, ['src/server.ts'], { cwd: FOLDER, env, stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.startsWith('http://')) return { url: line, process: child };
  }
  throw new Error('the server of the example did not start');
}

test.skipIf(!isBuilt)('the programs of the page "Use CopilotKit" compile against the installed packages', async () => {
  const page = await readFile(join(FOLDER, '../../docs/how-to/use-copilotkit.md'), 'utf8');
  const folder = join(FOLDER, 'dist/docs');
  await mkdir(folder, { recursive: true });
  const all = [...page.matchAll(/^```(tsx?)\n([^]*?)^```$/gm)];
  // The example has no packages of assistant-ui.
  const blocks = all.filter(([block]) => !block.includes('@assistant-ui/'));
  const files = await Promise.all(
    blocks.map(async ([, kind = 'ts', code = ''], index) => {
      const name = `block-${index}.${kind}`;
      await writeFile(join(folder, name), code);
      return name;
    }),
  );
  const types = { extends: '../../tsconfig.json', include: files, compilerOptions: { types: ['node', 'vite/client'] } };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(types));
  const tsc = join(FOLDER, 'node_modules/typescript/bin/tsc');
  const { stdout } = await promisify(execFile)(process.execPath, [tsc, '-p', folder]).catch(
    (error: { stdout: string }) => error,
  );
  expect(stdout).toBe('');
  expect(files.length).toBe(2);
});

describe.skipIf(!isBuilt || chromium === undefined)(
  'CopilotKit in Chromium (npm ci and npm run build in examples/copilotkit, and an installed Chromium)',
  () => {
    let fixture: Fixture;
    let turnfold: Awaited<ReturnType<typeof serveApp>>;
    let example: Awaited<ReturnType<typeof startExample>>;
    let browser: Browser;
    let count = 0;

    beforeAll(async () => {
      fixture = await openFixture();
      await fixture.startWorkers([createDeskAgent()]);
      turnfold = await serveApp(agUiApp({ authenticate: 'none', clientFor: () => fixture.client, agent: 'desk' }));
      example = await startExample(turnfold.url);
      browser = await openBrowser(chromium ?? '');
    });
    afterAll(async () => {
      gate.resolve();
      await browser?.close();
      example?.process.kill();
      await turnfold?.close();
      await fixture?.close();
    });

    interface Opened {
      readonly page: Page;
      readonly thread: string;
      readonly errors: readonly string[];
    }

    async function open(): Promise<Opened> {
      count += 1;
      const thread = `copilot-${count}`;
      const page = await browser.newPage();
      const errors: string[] = [];
      page.on('pageerror', ({ message }) => errors.push(message));
      await page.goto(`${example.url}/?thread=${thread}`);
      await page.locator('textarea').waitFor();
      return { page, thread, errors };
    }

    async function say(page: Page, text: string): Promise<void> {
      const box = page.locator('textarea');
      await box.fill(text);
      await box.press('Enter');
    }

    async function shows(page: Page, text: string): Promise<void> {
      await page.getByText(text, { exact: true }).first().waitFor();
      const folder = process.env['SCREENSHOTS'];
      if (folder !== undefined) await page.screenshot({ path: join(folder, `${text.replaceAll(/\W+/g, '-')}.png`) });
    }

    test('CopilotKit runs a tool of the page, and the agent reads its result', async () => {
      const { page, errors } = await open();
      await say(page, 'call set_theme {"theme":"dark"}');
      await shows(page, 'Result: the theme is dark');
      expect(await page.locator('main').getAttribute('data-theme')).toBe('dark');
      await say(page, 'hello');
      await shows(page, 'heard hello');
      expect(errors).toEqual([]);
    });

    test('the model reads the context of a CopilotKit page', async () => {
      const { page } = await open();
      await say(page, 'who am I');
      await shows(page, 'You are Ada');
      expect(await page.getByText('You are Ada').count()).toBe(1);
    });

    test('a CopilotKit page and a tool of the agent share their state', async () => {
      const { page } = await open();
      await page.getByRole('button', { name: 'Add a note' }).click();
      await shows(page, 'Note 1');
      await say(page, 'call take_note {"note":"buy paper"}');
      await shows(page, 'Result: noted buy paper');
      expect(await page.locator('aside li').allTextContents()).toEqual(['Note 1', 'buy paper']);
    });

    test.each([
      ['Allow', 'Result: refunded'],
      ['Deny', 'Result: denied: cancelled'],
    ])('a person decides on a call in a CopilotKit page: %s', async (button, result) => {
      const { page, errors } = await open();
      await say(page, 'call refund {"order":"o-1"}');
      await shows(page, button);
      await page.getByRole('button', { name: button }).click();
      await shows(page, result);
      expect(errors).toEqual([]);
    });

    test('the stop button of CopilotKit stops the turn, and the next message is answered', async () => {
      gate = Promise.withResolvers();
      const { page, thread } = await open();
      await say(page, 'hold');
      await shows(page, 'One');
      await page.locator('[data-testid="copilot-send-button"]').click();
      const stateOf = async (): Promise<string | undefined> => {
        const [entry] = await fixture.client.log(thread);
        return (await fixture.client.result(thread, entry?.turn ?? '')).state;
      };
      await expect.poll(stateOf, { timeout: 20_000 }).toBe('canceled');
      await say(page, 'hello again');
      await shows(page, 'heard hello again');
    });

    test('a CopilotKit page shows its conversation after a restart of its own server', async () => {
      const { page, thread } = await open();
      await say(page, 'call take_note {"note":"buy ink"}');
      await shows(page, 'Result: noted buy ink');
      example.process.kill();
      example = await startExample(turnfold.url);
      await page.goto(`${example.url}/?thread=${thread}`);
      await shows(page, 'Result: noted buy ink');
      expect(await page.locator('aside li').allTextContents()).toEqual(['buy ink']);
      await say(page, 'hello');
      await shows(page, 'heard hello');
    });

    test('a CopilotKit page that is loaded again shows the conversation and follows the running turn', async () => {
      gate = Promise.withResolvers();
      const { page } = await open();
      await say(page, 'hello');
      await shows(page, 'heard hello');
      await say(page, 'hold');
      await shows(page, 'One');
      await page.reload();
      await shows(page, 'heard hello');
      gate.resolve();
      await shows(page, 'One two.');
      expect(await page.getByText('heard hello').count()).toBe(1);
    });
  },
);
