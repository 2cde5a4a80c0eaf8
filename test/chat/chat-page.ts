import type { Browser, Page } from 'playwright-core';
import { type ShownMessage, withoutEmpty } from './chat-run.ts';

/** Reads the messages in the page, each with its role and texts. */
const READ = `document.querySelector('.messages') === null ? undefined :
  [...document.querySelectorAll('.messages > li')].map((item) => ({
    role: item.classList.contains('user') ? 'user' : 'assistant',
    texts: [...item.querySelectorAll('.text')].map(({ textContent }) => textContent),
  }))`;

/** The page of one conversation in a browser. Every call is repeated while the page is being loaded. */
export class ChatPage {
  readonly #page: Page;

  private constructor(page: Page) {
    this.#page = page;
  }

  static async open(browser: Browser, url: string): Promise<ChatPage> {
    const context = await browser.newContext();
    const page = new ChatPage(await context.newPage());
    await page.#page.goto(url).catch(() => undefined);
    return page;
  }

  /** Loads the page again, as a user does who has lost patience. */
  async reload(): Promise<void> {
    await this.#page.reload({ waitUntil: 'commit' }).catch(() => undefined);
  }

  /** Types a message and sends it. @returns false if the page was not ready */
  async send(text: string): Promise<boolean> {
    try {
      await this.#page.getByLabel('Message').fill(text, { timeout: 1_000 });
      await this.#page.getByRole('button', { name: 'Send' }).click({ timeout: 1_000 });
      return true;
    } catch {
      return false;
    }
  }

  /** The messages that the page shows, or undefined while it loads. */
  async read(): Promise<readonly ShownMessage[] | undefined> {
    try {
      const shown = await this.#page.evaluate<readonly ShownMessage[] | undefined>(READ);
      return shown && withoutEmpty(shown);
    } catch {
      return undefined;
    }
  }
}
