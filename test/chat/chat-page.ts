import { setTimeout as sleep } from 'node:timers/promises';
import type { BrowserContext, Page } from 'playwright-core';
import { type ShownMessage, withoutEmpty } from './chat-run.ts';

/** Messages of one conversation as the page shows them. */
interface Shown {
  readonly conversation: string;
  readonly messages: readonly (ShownMessage & { readonly id: string })[];
}

const REPORT = 'reportShown';

/**
 * Runs in the page, and reports the conversation and its messages whenever they have changed. A page that asks every 50 ms
 * costs more than a page that reports.
 */
const WATCH = `(() => {
  let timer;
  const report = () => {
    timer = undefined;
    const list = document.querySelector('.messages');
    const name = document.querySelector('header code');
    if (list === null || name === null) return;
    const messages = [...list.children].map((item) => ({
      id: item.dataset.id,
      role: item.classList.contains('user') ? 'user' : 'assistant',
      texts: [...item.querySelectorAll('.text')].map(({ textContent }) => textContent),
    }));
    window.${REPORT}({ conversation: name.textContent, messages });
  };
  const watch = new MutationObserver(() => { timer ??= setTimeout(report, 20); });
  watch.observe(document, { subtree: true, childList: true, characterData: true });
})()`;

/**
 * Runs in the page. A click of the browser's driver waits for two frames and a second at most, and a busy machine paints
 * no two frames a second.
 */
const SUBMIT = `async (text) => {
  const input = document.querySelector('form textarea');
  if (input === null) return false;
  Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, 'value').set.call(input, text);
  input.dispatchEvent(new Event('input', { bubbles: true }));
  await new Promise((resolve) => setTimeout(resolve));
  const button = document.querySelector('form button[type=submit]');
  button?.click();
  return button !== null;
}`;

const READY_MS = 1_000;
const LOAD_MS = 20_000;
/** A busy machine takes minutes for what a quiet one does in a second. */
const SHOW_MS = 300_000;

/** The page of one conversation in a browser, as far as it has reported what it shows. */
export class ChatPage {
  readonly #page: Page;
  readonly #url: string;
  readonly #onShown: (messages: readonly ShownMessage[]) => void;
  #conversation = '';
  #shown: Shown | undefined;
  #change = Promise.withResolvers<void>();

  private constructor(page: Page, url: string, onShown: (messages: readonly ShownMessage[]) => void) {
    this.#page = page;
    this.#url = url;
    this.#onShown = onShown;
  }

  /** @param onShown called with the messages after every change */
  static async open(
    context: BrowserContext,
    url: string,
    onShown: (messages: readonly ShownMessage[]) => void,
  ): Promise<ChatPage> {
    const tab = await context.newPage();
    const page = new ChatPage(tab, url, onShown);
    await tab.exposeBinding(REPORT, (_, shown: Shown) => page.#take(shown));
    await tab.addInitScript(WATCH);
    return page;
  }

  /** Opens a conversation, as the link to a new conversation does. */
  async show(conversation: string): Promise<void> {
    this.#conversation = conversation;
    for (const until = Date.now() + SHOW_MS; this.messages === undefined; await this.nextChange(READY_MS)) {
      if (Date.now() > until) throw new Error(`${conversation} is not shown: ${await this.#page.content()}`);
      await this.#page.goto(`${this.#url}/#${conversation}`, { waitUntil: 'commit' }).catch(() => undefined);
    }
  }

  /** Loads the page again, as a user does who has lost patience, until it shows a conversation. */
  async reload(signal: AbortSignal): Promise<void> {
    this.#shown = undefined;
    while (this.#shown === undefined && !signal.aborted) {
      await this.#page.reload({ waitUntil: 'commit' }).catch(() => undefined);
      for (let until = Date.now() + LOAD_MS; this.#shown === undefined && Date.now() < until; )
        await this.nextChange(READY_MS);
    }
  }

  /**
   * Writes a message into the form and submits it, if the page is ready. Waits up to a second until the page shows the
   * message, as a user does before he writes it again.
   */
  async send(text: string): Promise<void> {
    // The page is being loaded if this fails.
    const isSent = await this.#page.evaluate(`(${SUBMIT})(${JSON.stringify(text)})`).catch(() => false);
    if (isSent !== true) return;
    for (let until = Date.now() + READY_MS; this.findMessage(text) === undefined && Date.now() < until; )
      await this.nextChange(READY_MS);
  }

  /** Messages that the page shows, or undefined until it has shown the conversation. */
  get messages(): readonly ShownMessage[] | undefined {
    const shown = this.#shown;
    if (shown?.conversation !== this.#conversation) return undefined;
    return withoutEmpty(shown.messages.map(({ role, texts }) => ({ role, texts })));
  }

  /** Id of the user's message with a text. Undefined if the page does not show it. */
  findMessage(text: string): string | undefined {
    return this.#shown?.messages.find(({ role, texts }) => role === 'user' && texts.includes(text))?.id;
  }

  /** Waits until the page has reported a change, or for `ms`. */
  async nextChange(ms: number): Promise<void> {
    const waited = new AbortController();
    await Promise.race([
      this.#change.promise,
      sleep(ms, undefined, { signal: waited.signal }).catch(() => undefined),
    ]).finally(() => waited.abort());
  }

  #take(shown: Shown): void {
    this.#shown = shown;
    this.#onShown(shown.messages);
    this.#change.resolve();
    this.#change = Promise.withResolvers<void>();
  }
}
