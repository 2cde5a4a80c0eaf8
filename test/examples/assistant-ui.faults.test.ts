import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { agUiApp } from '../../src/api/http/ag-ui/ag-ui-app.ts';
import { type Fixture, openFixture } from '../client/fixture.ts';
import { createSharingAgent, gates } from '../http/ag-ui-agent.ts';
import { serveApp } from '../http/served-app.ts';

const ROOT = join(import.meta.dirname, '../..');
const FOLDER = join(ROOT, 'examples/pages');
const isInstalled = existsSync(join(FOLDER, 'node_modules/@assistant-ui/react-ag-ui'));

interface ShownMessage {
  readonly id: string;
  readonly role: string;
  readonly status?: { readonly type: string; readonly error?: unknown };
  readonly content: readonly { readonly type: string; readonly text?: string }[];
}

/** The methods of the runtime of assistant-ui that its own components call. */
interface Runtime {
  readonly thread: {
    getState(): { readonly messages: readonly ShownMessage[]; readonly isRunning: boolean };
    getModelContext(): { readonly tools?: Readonly<Record<string, unknown>> };
    append(message: object | string): void;
    cancelRun(): void;
    getMessageById(id: string): { reload(): void };
  };
  unstable_getPendingInterrupts(): readonly { readonly id: string }[];
  unstable_submitInterruptResponses(responses: readonly object[]): Promise<void>;
}

interface AgUi {
  readonly fromAgUiMessages: (messages: unknown) => readonly object[];
  readonly useAgUiRuntime: (options: object) => Runtime;
}

interface Components {
  readonly ExportedMessageRepository: { readonly fromArray: (messages: readonly object[]) => object };
  readonly AssistantRuntimeProvider: unknown;
  readonly useAssistantInstructions: (text: string) => void;
  readonly useAssistantTool: (tool: object) => void;
}

const SET_THEME = {
  toolName: 'set_theme',
  type: 'frontend',
  description: 'sets the theme',
  parameters: { type: 'object', properties: { place: { type: 'string' } } },
  execute: async (): Promise<string> => 'dark now',
};

interface Connected {
  readonly messages: unknown;
  runAgent(): Promise<unknown>;
}

type Create = (type: unknown, properties?: object | null, ...children: unknown[]) => unknown;

/** Loads a package of the example, so that all of them share one React. */
async function load<Module>(name: string): Promise<Module> {
  const path = createRequire(join(FOLDER, 'package.json')).resolve(name);
  return (await import(pathToFileURL(path).href)) as Module;
}

async function render(element: unknown): Promise<{ readonly textContent: string | null }> {
  const dom = await load<{ createRoot(at: object): { render(element: unknown): void } }>('react-dom/client');
  const place = browser.createElement('div');
  dom.createRoot(place).render(element);
  return place;
}

let fixture: Fixture;
let server: Awaited<ReturnType<typeof serveApp>>;
let browser: { createElement(name: string): { readonly textContent: string | null } };
let count = 0;
/** Requests of the pages, until their answers are read to the end. */
const requests: Promise<unknown>[] = [];
const { fetch: send } = globalThis;
globalThis.fetch = async (...given) => {
  const answer = send(...given);
  requests.push(answer.then(async (response) => await response.clone().text()).catch(() => undefined));
  return await answer;
};

interface OpenedPage {
  readonly threadId: string;
  readonly runtime: Runtime;
  readonly errors: readonly string[];
  readonly lines: () => string[];
  /** Sends a message, and waits until its run has ended. */
  readonly say: (text: string) => Promise<void>;
  readonly rest: () => Promise<void>;
}

describe.skipIf(!isInstalled)('the runtime of assistant-ui (npm ci in examples/pages)', () => {
  beforeAll(async () => {
    const { Window } = await load<{ Window: new () => { readonly document: typeof browser } }>('happy-dom');
    const window = new Window();
    browser = window.document;
    Object.assign(globalThis, { window, document: browser });
    fixture = await openFixture();
    await fixture.startWorkers([createSharingAgent()]);
    server = await serveApp(agUiApp({ authenticate: 'none', clientFor: () => fixture.client, agent: 'sharer' }));
  });
  afterAll(async () => {
    for (const gate of gates.values()) gate.resolve();
    // The client of AG-UI leaves a rejection unhandled if the server closes the connection of its request.
    await Promise.all(requests);
    globalThis.fetch = send;
    await server?.close();
    await fixture?.close();
  });

  async function open(named?: string, isReloaded = false): Promise<OpenedPage> {
    count += 1;
    const threadId = named ?? `assistant-ui-${count}`;
    const { createElement } = await load<{ createElement: Create }>('react');
    const { useAgUiRuntime, fromAgUiMessages } = await load<AgUi>('@assistant-ui/react-ag-ui');
    const { AssistantRuntimeProvider, ExportedMessageRepository, useAssistantInstructions, useAssistantTool } =
      await load<Components>('@assistant-ui/react');
    const { HttpAgent } = await load<{ HttpAgent: new (options: object) => Connected }>('@ag-ui/client');
    const agent = new HttpAgent({ url: `${server.url}/v1/ag-ui`, threadId });
    const history = {
      load: async (): Promise<object> => {
        const thread = new HttpAgent({ url: `${server.url}/v1/ag-ui/connect`, threadId });
        await thread.runAgent();
        return ExportedMessageRepository.fromArray(fromAgUiMessages(thread.messages));
      },
      append: async (): Promise<void> => undefined,
    };
    const adapters = isReloaded ? { history } : {};
    const errors: string[] = [];
    const onError = ({ message }: Error): void => void errors.push(message);
    const shown = Promise.withResolvers<Runtime>();
    function Tools(): null {
      useAssistantInstructions('Speak French.');
      useAssistantTool(SET_THEME);
      return null;
    }
    function Page(): unknown {
      const own = useAgUiRuntime({ agent, onError, adapters });
      shown.resolve(own);
      return createElement(AssistantRuntimeProvider, { runtime: own }, createElement(Tools));
    }
    await render(createElement(Page));
    const runtime = await shown.promise;
    const { thread } = runtime;
    const hasTool = (): boolean => thread.getModelContext().tools?.['set_theme'] !== undefined;
    await expect.poll(hasTool, { timeout: 20_000 }).toBe(true);
    const rest = async (): Promise<void> => {
      await expect.poll(() => thread.getState().isRunning, { timeout: 20_000 }).toBe(false);
    };
    const say = async (text: string): Promise<void> => {
      await rest();
      const before = thread.getState().messages.length;
      thread.append(text);
      await expect.poll(() => thread.getState().messages.length, { timeout: 20_000 }).toBeGreaterThan(before + 1);
      await rest();
    };
    const lines = (): string[] =>
      thread.getState().messages.map(({ role, content }) => {
        return `${role}: ${content.map(({ type, text }) => text ?? type).join(' ')}`;
      });
    return { threadId, runtime, errors, lines, say, rest };
  }

  async function readContext(threadId: string): Promise<string[]> {
    const { items } = await fixture.client.context(threadId);
    return items.map(({ message: { role, content } }) => `${role}: ${content}`);
  }

  test('a page of assistant-ui shows the text and the calls of an agent', async () => {
    const page = await open();
    await page.say('call read_state');
    expect(page.lines()).toEqual(['user: call read_state', 'assistant: One moment. tool-call', 'assistant: So: {}']);
    await page.say('hello');
    expect(page.lines().at(-1)).toBe('assistant: heard hello');
    expect(page.errors).toEqual([]);
  });

  test('assistant-ui runs a tool of its page, and the model reads the instructions of the page', async () => {
    const page = await open();
    page.runtime.thread.append('call set_theme');
    await expect.poll(() => page.lines().at(-1), { timeout: 20_000 }).toContain('So: ');
    expect(page.lines().at(-1)).toContain('dark now');
    await page.say('system');
    await expect.poll(() => page.lines().at(-1), { timeout: 20_000 }).toContain('Speak French.');
    expect(page.errors).toEqual([]);
  });

  test.each([
    [true, 'So: booked'],
    [false, 'So: denied: too dear'],
  ])('a person decides on a call in a page of assistant-ui: %s', async (approved, result) => {
    const page = await open();
    await page.say('call book');
    const [interrupt] = page.runtime.unstable_getPendingInterrupts();
    const payload = { approved, ...(!approved && { why: 'too dear' }) };
    await page.runtime.unstable_submitInterruptResponses([{ interruptId: interrupt?.id, status: 'resolved', payload }]);
    await page.rest();
    expect(page.lines().at(-1)).toContain(result);
    expect(page.errors).toEqual([]);
  });

  test('the stop of assistant-ui stops the turn, and the next message is answered', async () => {
    gates.set('assistant-ui', Promise.withResolvers());
    const page = await open();
    page.runtime.thread.append('hold assistant-ui');
    await expect.poll(() => page.lines().at(-1), { timeout: 20_000 }).toBe('assistant: One ');
    page.runtime.thread.cancelRun();
    const stateOf = async (): Promise<string | undefined> => {
      const [entry] = await fixture.client.log(page.threadId);
      return (await fixture.client.result(page.threadId, entry?.turn ?? '')).state;
    };
    await expect.poll(stateOf, { timeout: 20_000 }).toBe('canceled');
    await page.rest();
    await page.say('hello');
    expect(page.lines().at(-1)).toBe('assistant: heard hello');
  });

  test('a regenerated answer of assistant-ui replaces the old answer', async () => {
    const page = await open();
    await page.say('one');
    await page.say('two');
    const { thread } = page.runtime;
    const before = thread.getState().messages.at(-1)?.id ?? '';
    thread.getMessageById(before).reload();
    await expect.poll(() => thread.getState().messages.at(-1)?.id, { timeout: 20_000 }).not.toBe(before);
    await page.rest();
    const expected = ['user: one', 'assistant: heard one', 'user: two', 'assistant: heard two'];
    expect(page.lines()).toEqual(expected);
    expect(await readContext(page.threadId)).toEqual(expected);
  });

  test('an edited message of assistant-ui that names the old message replaces it', async () => {
    const page = await open();
    await page.say('one');
    await page.say('two');
    const { thread } = page.runtime;
    const [, parent, edited] = thread.getState().messages;
    const runConfig = { custom: { turnfold: { replaces: edited?.id } } };
    const content = [{ type: 'text', text: 'three' }];
    thread.append({ role: 'user', content, parentId: parent?.id, sourceId: edited?.id, runConfig });
    await expect.poll(() => page.lines().at(-1), { timeout: 20_000 }).toBe('assistant: heard three');
    await page.rest();
    const expected = ['user: one', 'assistant: heard one', 'user: three', 'assistant: heard three'];
    expect(page.lines()).toEqual(expected);
    expect(await readContext(page.threadId)).toEqual(expected);
  });

  test('a second page of assistant-ui gets the turns that it lacks with its next answer', async () => {
    const first = await open();
    await first.say('one');
    const second = await open(first.threadId);
    await second.say('two');
    await first.say('three');
    const expected = ['one', 'two', 'three'].flatMap((text) => [`user: ${text}`, `assistant: heard ${text}`]);
    expect(await readContext(first.threadId)).toEqual(expected);
    expect(first.lines()).toEqual(expected);
  });

  test('a page of assistant-ui that is loaded again shows its conversation, and goes on', async () => {
    const first = await open();
    await first.say('call read_state');
    const { threadId } = first;
    const again = await open(threadId, true);
    await expect.poll(() => again.lines().length, { timeout: 20_000 }).toBe(3);
    expect(again.lines()).toEqual(['user: call read_state', 'assistant: One moment. tool-call', 'assistant: So: {}']);
    await again.say('hello');
    expect(again.lines().slice(3)).toEqual(['user: hello', 'assistant: heard hello']);
    expect((await readContext(threadId)).filter((line) => line.startsWith('user: ')).length).toBe(2);
    expect([...first.errors, ...again.errors]).toEqual([]);
  });

  test('a page of assistant-ui shows why a turn failed', async () => {
    const page = await open();
    await page.say('fail');
    expect(page.runtime.thread.getState().messages.at(-1)?.status).toMatchObject({ type: 'incomplete' });
    expect(page.errors.join('\n')).toContain('the model is broken');
  });

  test('the program of the page "Use CopilotKit" for assistant-ui renders its children', async () => {
    const page = readFileSync(join(ROOT, 'docs/how-to/use-copilotkit.md'), 'utf8');
    const [, program = ''] = /^```tsx\n([^`]*@assistant-ui\/react-ag-ui[^`]*)^```$/m.exec(page) ?? [];
    const compilerOptions = { jsx: ts.JsxEmit.ReactJSX, module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2024 };
    expect(program).toContain('export function Assistant');
    const served = program.replaceAll("'/v1/ag-ui", `'${server.url}/v1/ag-ui`);
    const { outputText } = ts.transpileModule(served, { compilerOptions });
    const folder = join(FOLDER, 'node_modules/.cache/turnfold');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'assistant.mjs'), outputText);
    const { Assistant } = (await import(pathToFileURL(join(folder, 'assistant.mjs')).href)) as { Assistant: unknown };
    const { createElement } = await load<{ createElement: Create }>('react');
    const place = await render(createElement(Assistant, null, 'Ask me'));
    await expect.poll(() => place.textContent).toBe('Ask me');
  });
});
