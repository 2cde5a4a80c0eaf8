import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { RECORD } from '../models/summarizer/fixture.ts';
import { type Provider, startProvider } from '../provider/provider.ts';
import type { Outcome, ProviderRequest } from '../provider/script.ts';
import type { Random } from '../setup/random.ts';
import { CUSTOMER, PLANS } from './agent.ts';

interface SentMessage {
  readonly role: string;
  readonly content: unknown;
}

/** Share of requests that get a fault, until `calm`. */
const FAULT_SHARE = 0.04;
/** Share of new forms with summaries that are refused as invalid, until `calm`. */
const REFUSAL_SHARE = 0.05;
/** Longest answer of each model, in ms. */
const CLERK_MS = 150;
const RECORDER_MS = 400;
/** Milliseconds. The longest hangs outlast a lease. */
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
/** Marks a summary in a request, also one that was written without a model. */
const SUMMARY_MARK = '<summary ';

/** A local provider that serves the agent's model and the summary model, with random faults. */
export class FaultyProvider {
  /** Number of answers to each summary request. */
  readonly paid = new Map<string, number>();
  faults = 0;
  refusals = 0;
  readonly #random: Random;
  readonly #seen = new Set<string>();
  #isCalm = false;
  #provider: Provider | undefined;

  private constructor(random: Random) {
    this.#random = random;
  }

  static async start(random: Random): Promise<FaultyProvider> {
    const provider = new FaultyProvider(random);
    provider.#provider = await startProvider({
      answers: (request) => provider.#answer(request),
      strict: { windowTokens: 40_000 },
    });
    return provider;
  }

  get url(): string {
    return (this.#provider as Provider).url;
  }

  /** Ends the faults. */
  calm(): void {
    this.#isCalm = true;
  }

  async stop(): Promise<void> {
    await this.#provider?.[Symbol.asyncDispose]().catch(() => undefined); // requests of killed workers are still open
  }

  async #answer(request: ProviderRequest): Promise<Outcome> {
    this.#forget();
    if (!this.#isCalm && this.#random.chance(FAULT_SHARE)) return await this.#misbehave();
    const messages = request.body['messages'] as readonly SentMessage[];
    return request.body['model'] === 'recorder' ? await this.#record(messages) : await this.#serve(messages);
  }

  async #serve(messages: readonly SentMessage[]): Promise<Outcome> {
    await sleep(this.#random.between(0, CLERK_MS));
    const texts = messages.map(({ content }) => textOf(content));
    const summaries = texts.filter((text) => text.includes(SUMMARY_MARK));
    // Different conversations may get equal summaries. The customer's name tells the conversations apart.
    const form = hash([texts.find((text) => text.includes(CUSTOMER)), summaries]);
    if (summaries.length > 0 && !this.#seen.has(form)) {
      this.#seen.add(form);
      if (!this.#isCalm && this.#random.chance(REFUSAL_SHARE)) {
        this.refusals += 1;
        return { fault: 'invalid' };
      }
    }
    return answerAsClerk(messages);
  }

  async #record(messages: readonly SentMessage[]): Promise<Outcome> {
    const source = hash(messages);
    this.paid.set(source, (this.paid.get(source) ?? 0) + 1);
    await sleep(this.#random.between(0, RECORDER_MS));
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

  /** Limits the memory of a long run, because the test server keeps all requests. */
  #forget(): void {
    const { requests } = this.#provider as Provider;
    if (requests.length > KEPT_REQUESTS) requests.length = 0;
  }
}

/** Follows the plan at the end of the turn's input: first the tool calls, then an answer. */
function answerAsClerk(messages: readonly SentMessage[]): Outcome {
  const asked = textOf(messages.findLast(({ role }) => role === 'user')?.content);
  // All answers differ, and so all sequences. A summary request that repeats is then one that is paid for again.
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

/** 10 to 110 words. The same text gives the same words. */
function prose(text: string): string {
  const [seed = 0] = createHash('sha256').update(text).digest();
  return Array.from({ length: 10 + (seed % 100) }, (_, index) => WORDS[(index + seed) % WORDS.length]).join(' ');
}
