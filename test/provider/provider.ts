/**
 * A test server for four wire formats. It refuses the requests that the real providers refuse, with the providers'
 * error messages, and sends scripted answers. It was written from the providers' documentation, independently of
 * `src/wire`, so that two readings of the rules check each other.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readAll } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { newId } from './answer.ts';
import { anthropicDialect } from './anthropic/dialect.ts';
import type { Dialect } from './dialect.ts';
import { geminiDialect } from './gemini/dialect.ts';
import { Issued } from './issued.ts';
import { estimateTokens, isObject, type JsonObject, parseJson } from './json.ts';
import { chatDialect } from './openai-chat/dialect.ts';
import { compactionDialect, responsesDialect } from './openai-responses/dialect.ts';
import { playOutcome, playRefusal } from './play.ts';
import type { Refusal, Strictness } from './refusal.ts';
import { type ProviderRequest, type Reply, type ReplyFunction, Script } from './script.ts';
import { Sender } from './sender.ts';

export interface ProviderOptions {
  /** A list with one reply for each request, all of which must be used, or a function that answers every request. */
  readonly answers?: readonly Reply[] | ReplyFunction;
  /** If false, every request with a key is accepted. */
  readonly strict?: false | Partial<Strictness>;
  /** The only accepted key. If absent, every key is accepted. */
  readonly apiKey?: string;
  /** Headers of every response. */
  readonly headers?: Readonly<Record<string, string>>;
}

const ROUTES: ReadonlyMap<string, Dialect> = new Map([
  ['/v1/messages', anthropicDialect],
  ['/v1/chat/completions', chatDialect],
  ['/v1/responses', responsesDialect],
  ['/v1/responses/compact', compactionDialect],
]);

/** Gemini names the model in the path. */
const GEMINI_PATH = /^\/v1\/models\/([^/:]+):streamGenerateContent\b/;

const STRICTNESS: Strictness = {
  signatures: 'prefix',
  windowTokens: 200_000,
  maxBytes: 32 * 1024 * 1024,
  hasStrictTemplate: false,
  takesLaterSystem: false,
  needsReasoning: false,
  countTokens: estimateTokens,
};

const CLOSE_DEADLINE_MS = 1_000;
const SECRET_HEADERS: ReadonlySet<string> = new Set(['authorization', 'x-api-key', 'x-goog-api-key', 'cookie']);

/** @throws on disposal (`await using`) if requests are open, were not scripted, or scripted answers were not used */
export async function startProvider(options: ProviderOptions = {}): Promise<Provider> {
  const provider = new Provider(options);
  await provider.listen();
  return provider;
}

export class Provider implements AsyncDisposable {
  /** All requests, oldest first, including refused ones. */
  readonly requests: ProviderRequest[] = [];
  readonly #script: Script;
  readonly #strict: Strictness | undefined;
  readonly #apiKey: string | undefined;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #issued = new Issued();
  readonly #server: Server;
  readonly #open = new Map<Promise<void>, string>();
  readonly #problems: Error[] = [];

  constructor({ answers = [], strict = {}, apiKey, headers = {} }: ProviderOptions) {
    this.#script = new Script(answers);
    this.#strict = strict === false ? undefined : { ...STRICTNESS, ...strict };
    this.#apiKey = apiKey;
    this.#headers = headers;
    this.#server = createServer((request, response) => this.#track(request, response));
  }

  /** Base URL for Anthropic's SDK. OpenAI's SDK needs `/v1` appended to it. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  respond(...next: readonly Reply[]): void {
    this.#script.add(next);
  }

  /** Records items of one response as issued, so that a prepared history satisfies the wire rules R2 and R3. */
  remember(items: readonly JsonObject[]): void {
    this.#issued.recordItems(items);
  }

  async listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { unused } = this.#script;
    if (unused > 0) this.#problems.push(new Error(`${unused} scripted answers were not asked for`));
    this.#server.close();
    await Promise.race([Promise.all(this.#open.keys()), wait(CLOSE_DEADLINE_MS, undefined, { ref: false })]);
    for (const path of this.#open.values()) this.#problems.push(new Error(`a request to ${path} was left open`));
    this.#server.closeAllConnections();
    const [problem, ...others] = this.#problems;
    if (problem !== undefined)
      throw others.length === 0 ? problem : new AggregateError(this.#problems, problem.message);
  }

  #track(request: IncomingMessage, response: ServerResponse): void {
    const work = this.#answer(request, response)
      .catch((error: unknown) => {
        this.#problems.push(error instanceof Error ? error : new Error(String(error)));
        if (response.headersSent) response.destroy();
        else response.writeHead(500).end(String(error));
      })
      .finally(() => this.#open.delete(work));
    this.#open.set(work, request.url ?? '');
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '';
    const [, model] = GEMINI_PATH.exec(path) ?? [];
    const dialect = model === undefined ? ROUTES.get(path.replace(/\?.*$/, '')) : geminiDialect;
    if (dialect === undefined || request.method !== 'POST') throw new Error(`no such path: ${request.method} ${path}`);
    const sender = new Sender(response, { ...this.#headers, [dialect.requestIdHeader]: newId('req_') });
    const text = await readAll(request);
    const parsed = parseJson(text);
    const given = isObject(parsed) ? parsed : {};
    const body = model === undefined ? given : { ...given, model };
    const refusal =
      dialect.authorize(request.headers, this.#apiKey) ??
      this.#refuse(dialect, body, { request, bytes: Buffer.byteLength(text) });
    const headers = Object.entries(request.headers).filter(([name]) => !SECRET_HEADERS.has(name));
    const seen: ProviderRequest = {
      format: dialect.format,
      path,
      headers: Object.fromEntries(headers.map(([name, value]) => [name, String(value)])),
      body,
      isStream: body['stream'] === true || model !== undefined,
      refusal,
    };
    this.requests.push(seen);
    const stage = { dialect, request: seen, sender, issued: this.#issued };
    if (refusal === undefined) await playOutcome(await this.#script.next(seen), stage);
    else await playRefusal(refusal, stage);
  }

  #refuse(
    dialect: Dialect,
    body: JsonObject,
    { request, bytes }: { readonly request: IncomingMessage; readonly bytes: number },
  ): Refusal | undefined {
    if (this.#strict === undefined) return undefined;
    const betas = new Set(String(request.headers['anthropic-beta'] ?? '').split(/,\s*/));
    return dialect.refuse(body, { ...this.#strict, issued: this.#issued, betas, bytes });
  }
}
