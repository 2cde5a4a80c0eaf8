import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { useChat as useChat7 } from '@ai-sdk/react';
import { useChat as useChat5 } from '@ai-sdk/react5';
import { useChat as useChat6 } from '@ai-sdk/react6';
import { createElement, startTransition, use, useState } from 'react';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type DurableChat, type DurableChatOptions, useDurableChat } from '../../src/chat/react/index.ts';
import type { TransportMessage } from '../../src/chat/transport-types.ts';

type UseChat = DurableChatOptions<TransportMessage>['useChat'];
const versions: readonly (readonly [5 | 6 | 7, UseChat])[] = [
  [5, useChat5 as unknown as UseChat],
  [6, useChat6 as unknown as UseChat],
  [7, useChat7 as unknown as UseChat],
];

const pages = createRequire(fileURLToPath(new URL('../../examples/pages/package.json', import.meta.url)));
const dom = findDom();

/** @returns undefined if the packages of the example are not installed */
function findDom(): string | undefined {
  try {
    return pages.resolve('happy-dom');
  } catch {
    return undefined;
  }
}

interface Root {
  render(element: unknown): void;
  unmount(): void;
}
interface Browser {
  readonly document: { createElement(name: string): object };
}

let browser: Browser;
let createRoot: (place: object) => Root;

beforeAll(async () => {
  if (dom === undefined) return;
  const { Window } = (await import(dom)) as { readonly Window: new () => Browser };
  browser = new Window();
  Object.assign(globalThis, { window: browser, document: browser.document });
  // React looks for the window when it is loaded.
  // @ts-expect-error The package has no types of its own.
  ({ createRoot } = (await import('react-dom/client')) as { readonly createRoot: typeof createRoot });
});

function mount(Page: () => null): void {
  const root = createRoot(browser.document.createElement('div'));
  root.render(createElement(Page));
  onTestFinished(() => root.unmount());
}

/** A server whose chats have one open turn each. */
const answerChat: typeof fetch = async (target) => {
  const path = target instanceof Request ? target.url : target.toString();
  if (path.includes('/live')) return await new Promise(() => undefined);
  if (path.includes('/stream')) {
    const chunks = [
      { type: 'start', messageId: 'm1.1' },
      { type: 'text-start', id: 't' },
      { type: 'text-delta', id: 't', delta: 'hello' },
      { type: 'text-end', id: 't' },
      { type: 'finish', finishReason: 'stop' },
    ];
    return new Response([...chunks.map((chunk) => JSON.stringify(chunk)), '[DONE]'].map(writeEvent).join(''));
  }
  const messages = [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'hi' }] }];
  const turns = [{ turn: 'm1.1', messageId: 'm1', state: 'running', position: 0 }];
  return Response.json({ id: 'c', messages, turns, after: '0-0' });
};
const writeEvent = (data: string): string => `data: ${data}\n\n`;

describe.skipIf(dom === undefined)('useDurableChat in a page (npm ci in examples/pages)', () => {
  test.each(versions)(
    'a page that opens another chat in a render that React repeats shows its answer, with AI SDK %i',
    async (sdkVersion, useChat) => {
      const ready = Promise.withResolvers<void>();
      let open: (id: string) => void = () => undefined;
      let shown: DurableChat<TransportMessage> | undefined;
      let renders = 0;
      function Page(): null {
        const [id, setId] = useState('one');
        open = setId;
        const chat = useDurableChat({ id, useChat, sdkVersion, fetch: answerChat });
        if (id === 'two') {
          renders += 1;
          use(ready.promise);
        }
        shown = chat;
        return null;
      }
      mount(Page);
      const answered = (id: string) => ({ id, messages: [{ id: 'm1' }, { id: 'm1.1' }] });
      await expect.poll(() => shown).toMatchObject(answered('one'));
      startTransition(() => open('two'));
      await expect.poll(() => renders).toBeGreaterThan(0);
      ready.resolve();
      await expect.poll(() => shown).toMatchObject(answered('two'));
    },
  );
});
