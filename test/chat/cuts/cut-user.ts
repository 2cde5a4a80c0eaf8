import * as ai7 from 'ai';
import * as ai5 from 'ai5';
import * as ai6 from 'ai6';
import { createDurableTransport, type DurableTransport, type PageAnswer } from '../../../src/chat/index.ts';
import { gates } from './cut-agent.ts';
import { createCutFetch, type OnMoment } from './cut-fetch.ts';

/** The packages differ in types that this test does not use. */
const SDKS = { 5: ai5 as unknown as typeof ai7, 6: ai6 as unknown as typeof ai7, 7: ai7 };
export type CutSdk = keyof typeof SDKS;
export const CUT_SDKS: readonly CutSdk[] = [5, 6, 7];

type Message = ai7.UIMessage;

const STUCK_MS = 20_000;

interface UserOptions {
  readonly sdk: CutSdk;
  readonly id: string;
  readonly serve: (request: Request) => Promise<Response> | Response;
  readonly onMoment: OnMoment;
}

/** A page with its chat and transport. A reload makes a new page. */
interface OpenPage {
  readonly chat: InstanceType<typeof ai7.AbstractChat<Message>>;
  readonly transport: DurableTransport<Message>;
}

/** A person with a page, who acts once the page is ready, and reloads it whenever the test says so. */
export class CutUser {
  readonly #options: UserOptions;
  readonly gate: string;
  readonly errors: Error[] = [];
  #page: OpenPage;
  #busy: Promise<unknown> = Promise.resolve();
  #messages = 0;

  constructor(options: UserOptions) {
    this.#options = options;
    this.gate = `gate-${options.id}`;
    // A second tab of the same chat waits for the gate of the first.
    if (!gates.has(this.gate)) gates.set(this.gate, Promise.withResolvers<void>());
    this.#page = this.#openPage([]);
  }

  get id(): string {
    return this.#options.id;
  }

  get transport(): DurableTransport<Message> {
    return this.#page.transport;
  }

  get messages(): readonly Message[] {
    return this.#page.chat.messages;
  }

  /** Sends a message, and waits until the page is ready again. */
  async send(
    text: string,
    more: { readonly messageId?: string; readonly files?: ai7.FileUIPart[] } = {},
  ): Promise<void> {
    this.begin(text, more);
    await this.settle();
  }

  /** Sends a message, and does not wait. */
  begin(
    text: string,
    { messageId, files }: { readonly messageId?: string; readonly files?: ai7.FileUIPart[] } = {},
  ): void {
    const { chat } = this.#page;
    const role = 'user' as const;
    const parts = [...(files ?? []), { type: 'text' as const, text }];
    if (messageId !== undefined) this.#run(chat.sendMessage({ role, parts, messageId }));
    else {
      this.#messages += 1;
      this.#run(chat.sendMessage({ id: `m${this.#messages}`, role, parts }));
    }
  }

  async regenerate(): Promise<void> {
    this.#run(this.#page.chat.regenerate());
    await this.settle();
  }

  /** Answers all calls that wait for answers, and reads on, until no call waits. */
  async answer(answerOf: (tool: string) => PageAnswer): Promise<void> {
    const chatId = this.id;
    for (;;) {
      const { turns } = await this.transport.loadMessages({ chatId });
      const calls = turns[0]?.waiting?.calls.filter(({ decision }) => decision === undefined) ?? [];
      if (calls.length === 0) return;
      const answers = calls.map(({ toolCallId, approvalId = toolCallId, toolName }) => [
        approvalId,
        answerOf(toolName),
      ]);
      await this.transport.answerCalls({ chatId, answers: Object.fromEntries(answers) as Record<string, PageAnswer> });
      await this.resume();
    }
  }

  /** Answers approvals as the stock page does: with its next request. */
  async decide(approved: boolean): Promise<void> {
    const { chat } = this.#page;
    const waiting = chat.messages.flatMap(({ parts }) => parts).filter((part) => part.type === 'dynamic-tool');
    for (const { state, approval, toolName: tool, toolCallId } of waiting) {
      if (state === 'approval-requested') await chat.addToolApprovalResponse({ id: approval.id, approved });
      else if (state === 'input-available') await chat.addToolOutput({ tool, toolCallId, output: { approved } });
    }
    this.#run(chat.sendMessage());
    await this.settle();
  }

  /** Cancels the turn of the last message. */
  async stop(): Promise<void> {
    await this.transport.stopTurn({ chatId: this.id, messageId: this.messages.at(-1)?.id ?? '' });
  }

  async resume(): Promise<void> {
    this.#run(this.#page.chat.resumeStream());
    await this.settle();
  }

  /** Waits until the page shows a text. */
  async sees(text: string): Promise<void> {
    for (const until = Date.now() + STUCK_MS; !JSON.stringify(this.messages).includes(text); await pause()) {
      if (Date.now() > until) throw new Error(`${this.id} does not show ${text}: ${JSON.stringify(this.messages)}`);
    }
  }

  openGate(): void {
    gates.get(this.gate)?.resolve();
  }

  /** Loads the page again at once, and reads on. */
  reload(): void {
    const { transport } = this.#page;
    transport.close();
    this.#busy = this.#loadAgain();
  }

  /** Waits until no request is open, also in a page that was loaded again meanwhile. */
  async settle(): Promise<void> {
    let busy: Promise<unknown> | undefined;
    while (busy !== this.#busy) {
      busy = this.#busy;
      await busy;
    }
  }

  /** Shows the turns that ended or began elsewhere, as a page does that follows its chat. */
  async catchUp(): Promise<void> {
    for (const until = Date.now() + STUCK_MS; ; ) {
      if (Date.now() > until) throw new Error(`${this.id} is stuck: ${JSON.stringify(this.messages)}`);
      await this.settle();
      const { chat, transport } = this.#page;
      const { messages, turns } = await transport.loadMessages({ chatId: this.#options.id });
      const [first] = turns;
      if (first === undefined) {
        chat.messages = messages;
        return;
      }
      if (first.waiting?.calls.length) return;
      if (!chat.messages.some(({ id }) => id === first.messageId)) chat.messages = messages;
      await this.resume();
      await pause();
    }
  }

  close(): void {
    this.#page.transport.close();
    gates.delete(this.gate);
  }

  #run(request: Promise<unknown>): void {
    this.#busy = Promise.all([this.#busy, request]);
  }

  async #loadAgain(): Promise<void> {
    const { transport } = this.#openPage([]);
    const { messages } = await transport.loadMessages({ chatId: this.#options.id });
    transport.close();
    this.#page = this.#openPage(messages);
    await this.#page.chat.resumeStream();
  }

  #openPage(messages: Message[]): OpenPage {
    const { sdk, id, serve, onMoment } = this.#options;
    const fetch = createCutFetch(serve, onMoment);
    const transport = createDurableTransport<Message>({ fetch, sdkVersion: sdk, maxPauseMs: 5 });
    const state: ai7.ChatState<Message> = {
      status: 'ready',
      error: undefined,
      messages: [...messages],
      pushMessage: (message) => void (state.messages = [...state.messages, message]),
      popMessage: () => void (state.messages = state.messages.slice(0, -1)),
      replaceMessage: (index, message) => void (state.messages = state.messages.with(index, structuredClone(message))),
      snapshot: (value) => structuredClone(value),
    };
    class Page extends SDKS[sdk].AbstractChat<Message> {}
    const chat = new Page({
      id,
      state,
      transport,

      onError: (error) => this.errors.push(error),
    });
    return { chat, transport };
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 5));
}
