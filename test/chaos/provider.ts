import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { RECORD } from '../models/summarizer/fixture.ts';
import { type Provider, startProvider } from '../provider/provider.ts';
import type { Outcome, ProviderRequest } from '../provider/script.ts';
import type { Random } from '../setup/random.ts';
import { CUSTOMER, PLANS } from './agent.ts';

export interface Moods {
  /** share of requests that get a fault */
  readonly faults: number;
  /** share of the requests with summaries not seen before that are refused for their form */
  readonly refusals: number;
  /** most ms that an answer takes */
  readonly clerkMs: number;
  readonly recorderMs: number;
  /** every summary is a fault */
  readonly isRecorderAway?: boolean;
}

interface SentMessage {
  readonly role: string;
  readonly content: unknown;
}

/** ms; some longer than a lease */
const HANG = { least: 500, most: 9_000 };
const FAULTS = [
  'rate_limit',
  'server_error',
  'overloaded',
  'bad_gateway',
  'timeout',
  'garbage',
  'reset',
  'hang',
] as const;
const KEPT_REQUESTS = 100;
const WORDS = 'the order was sent on the 14th of May and paid for by hand in Basel '.split(' ');
/** Small sequences are summarized without a model: what any summary stands in. */
const SUMMARY_MARK = '<summary ';

/** The local provider as clerk and recorder, with its bad moments. */
export class MoodyProvider {
  /** summaries that were answered, by what they were made from */
  readonly paid = new Map<string, number>();
  faults = 0;
  refusals = 0;
  readonly #random: Random;
  readonly #seen = new Set<string>();
  #moods: Moods;
  #provider: Provider | undefined;

  private constructor(random: Random, moods: Moods) {
    this.#random = random;
    this.#moods = moods;
  }

  static async start(random: Random, moods: Moods): Promise<MoodyProvider> {
    const moody = new MoodyProvider(random, moods);
    moody.#provider = await startProvider({
      answers: (request) => moody.#answer(request),
      strict: { windowTokens: 40_000 },
    });
    return moody;
  }

  get url(): string {
    return (this.#provider as Provider).url;
  }

  /** No faults any more. */
  calm(): void {
    this.#moods = { ...this.#moods, faults: 0, refusals: 0 };
  }

  async stop(): Promise<void> {
    // Requests of workers that are gone are still open: no news here.
    await this.#provider?.[Symbol.asyncDispose]().catch(() => undefined);
  }

  async #answer(request: ProviderRequest): Promise<Outcome> {
    this.#forget();
    if (this.#random.chance(this.#moods.faults)) return await this.#misbehave();
    const messages = request.body['messages'] as readonly SentMessage[];
    return request.body['model'] === 'recorder' ? await this.#record(messages) : await this.#serve(messages);
  }

  async #serve(messages: readonly SentMessage[]): Promise<Outcome> {
    await sleep(this.#random.between(0, this.#moods.clerkMs));
    const texts = messages.map(({ content }) => textOf(content));
    const summaries = texts.filter((text) => text.includes(SUMMARY_MARK));
    // Summaries are alike in all conversations; their customers are not.
    const form = hash([texts.find((text) => text.includes(CUSTOMER)), summaries]);
    if (summaries.length > 0 && !this.#seen.has(form)) {
      this.#seen.add(form);
      if (this.#random.chance(this.#moods.refusals)) {
        this.refusals += 1;
        return { fault: 'invalid' };
      }
    }
    return answerAsClerk(messages);
  }

  async #record(messages: readonly SentMessage[]): Promise<Outcome> {
    if (this.#moods.isRecorderAway === true) return { fault: 'server_error' };
    const source = hash(messages);
    this.paid.set(source, (this.paid.get(source) ?? 0) + 1);
    await sleep(this.#random.between(0, this.#moods.recorderMs));
    return { text: RECORD };
  }

  async #misbehave(): Promise<Outcome> {
    this.faults += 1;
    const fault = this.#random.pick(FAULTS);
    if (fault === 'garbage') return { fault, as: this.#random.pick(['page', 'json', 'event'] as const) };
    if (fault === 'rate_limit') return { fault, retryAfterMs: this.#random.between(100, 1_000) };
    if (fault !== 'hang') return { fault };
    await sleep(this.#random.between(HANG.least, HANG.most));
    return { fault: 'reset' };
  }

  /** The test server keeps what it was asked; in a long run that is too much. */
  #forget(): void {
    const { requests } = this.#provider as Provider;
    if (requests.length > KEPT_REQUESTS) requests.length = 0;
  }
}

/** What the turn's text asks for: calls first, an answer behind their results. */
function answerAsClerk(messages: readonly SentMessage[]): Outcome {
  const asked = textOf(messages.findLast(({ role }) => role === 'user')?.content);
  // No two are the same, so that no two sequences are: what is paid for again is counted by its content.
  const answer = { text: `Done with ${asked.slice(-60)}: ${prose(asked)}` };
  if (messages.at(-1)?.role !== 'user') return answer;
  const look = (path: string) => ({ name: 'look', arguments: { path } });
  const note = `For ${asked.slice(-60)}:`;
  switch (PLANS.find((plan) => asked.endsWith(`: ${plan}`))) {
    case 'look':
      return { text: note, calls: [look('a.md')] };
    case 'look twice':
      return { text: note, calls: [look('a.md'), look('b.md')] };
    case 'read':
      return { text: note, calls: [{ name: 'read', arguments: {} }] };
    case 'ask outside':
      return { text: note, calls: [{ name: 'ask_outside', arguments: {} }] };
    case 'pay':
      return { text: note, calls: [{ name: 'pay', arguments: {} }, look('a.md')] };
    default:
      return answer;
  }
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return Array.isArray(content) ? content.map((part: { text?: string }) => part.text ?? '').join('') : '';
}

function hash(content: unknown): string {
  return createHash('sha256').update(JSON.stringify(content)).digest('hex');
}

/** 10 to 110 words, the same for the same text. */
function prose(text: string): string {
  const [seed = 0] = createHash('sha256').update(text).digest();
  return Array.from({ length: 10 + (seed % 100) }, (_, index) => WORDS[(index + seed) % WORDS.length]).join(' ');
}
