import { isDeepStrictEqual } from 'node:util';
import type { CutCase } from './cut-cases.ts';
import { type CutSdk, CutUser } from './cut-user.ts';
import { viewOf } from './shown-view.ts';

const FAULTS = ['cut', 'reload', 'tab'] as const;
type Fault = (typeof FAULTS)[number];

/** Chats at the same time. */
const LANES = 40;
const SHOWN_DIFFERENCES = 3;

interface Run {
  readonly page: readonly unknown[];
  readonly frames: number;
  /** Messages in a page that opens the chat afterwards. */
  readonly history: readonly unknown[];
  /** Messages in a second page that was opened meanwhile. */
  readonly tab?: readonly unknown[];
  readonly hasFault: boolean;
}

/** Leads the same chat again and again, with one fault at another point each time. */
export class CutRuns {
  readonly #serve: (request: Request) => Promise<Response> | Response;
  readonly #share: number;
  readonly counts = { cut: 0, reload: 0, tab: 0, differences: 0 };
  #chats = 0;

  constructor(serve: (request: Request) => Promise<Response> | Response, share: number) {
    this.#serve = serve;
    this.#share = share;
  }

  async findDifferences(sdk: CutSdk, one: CutCase): Promise<string[]> {
    const whole = await this.#run(sdk, one);
    const differences: string[] = [];
    const note = (about: object, page: readonly unknown[]): void => {
      if (isDeepStrictEqual(page, whole.page)) return;
      this.counts.differences += 1;
      if (differences.length < SHOWN_DIFFERENCES)
        differences.push(`${JSON.stringify(about)}: ${explain(page, whole.page)}`);
    };
    note({ at: 'history' }, whole.history);
    const points = FAULTS.flatMap((fault) => Array.from({ length: whole.frames }, (_, at) => ({ fault, at: at + 1 })));
    const tried = points.filter((_, at) => Math.ceil(at * this.#share) < Math.ceil((at + 1) * this.#share)).values();
    const lanes = Array.from({ length: LANES }, async () => {
      for (const { fault, at } of tried) {
        const run = await this.#run(sdk, one, { fault, at });
        if (run.hasFault) this.counts[fault] += 1;
        note({ fault, at }, run.page);
        note({ fault, at, in: 'history' }, run.history);
        if (run.tab !== undefined) note({ fault, at, in: 'tab' }, run.tab);
      }
    });
    await Promise.all(lanes);
    return differences;
  }

  async #run(sdk: CutSdk, { act }: CutCase, point?: { readonly fault: Fault; readonly at: number }): Promise<Run> {
    this.#chats += 1;
    const id = `cut-${this.#chats}`;
    let frames = 0;
    let hasFault = false;
    let tab: CutUser | undefined;
    let opening: Promise<unknown> = Promise.resolve();
    const user: CutUser = new CutUser({
      sdk,
      id,
      serve: this.#serve,
      onMoment: (moment) => {
        frames += 1;
        if (point === undefined || hasFault || frames < point.at) return 'pass';
        // A page that is loaded again before its message has reached the server loses the message, as any page does.
        if (point.fault !== 'cut' && moment === 'request') return 'pass';
        hasFault = true;
        if (point.fault === 'cut') return 'cut';
        if (point.fault === 'reload') user.reload();
        else {
          tab = new CutUser({ sdk, id, serve: this.#serve, onMoment: () => 'pass' });
          tab.reload();
          opening = tab.settle();
        }
        return 'pass';
      },
    });
    await act(user);
    await user.settle();
    const page = viewOf(user.messages, user.gate);
    await opening;
    const { messages } = await user.transport.loadMessages({ chatId: id });
    const history = viewOf(messages, user.gate);
    await tab?.catchUp();
    const shown = tab && { tab: viewOf(tab.messages, user.gate) };
    user.close();
    return { page, frames, history, hasFault, ...shown };
  }
}

/** Lists the messages that only one of two pages shows. */
function explain(page: readonly unknown[], whole: readonly unknown[]): string {
  const [shown, expected] = [page, whole].map((messages) => messages.map((message) => JSON.stringify(message)));
  const only = (messages: readonly string[] = [], others: readonly string[] = []): string[] => {
    return messages.filter((message) => !others.includes(message));
  };
  return `\n  shown ${only(shown, expected).join('\n    ')}\n  whole ${only(expected, shown).join('\n    ')}`;
}
