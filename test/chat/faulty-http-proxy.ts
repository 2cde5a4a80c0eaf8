import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../setup/random.ts';

/** Share of the requests that meet each fault. */
export interface FaultShares {
  /** The connection is cut before the request is sent on. */
  readonly lost: number;
  /** The connection is cut while the answer arrives. */
  readonly cut: number;
  /** The request is sent on twice. The answer is that of the second. */
  readonly doubled: number;
  /** Request and answer wait for up to `maxDelayMs`. */
  readonly delayed: number;
}

const MAX_DELAY_MS = 300;
const MAX_WHOLE_MS = 1_000;
/** A fault is overdue once chance should have brought it about so often. */
const MOST_OVERDUE = 2;

/** A POST request on its way. Pages repeat requests, so two may have the same body. */
interface PostRequest {
  readonly at: number;
  readonly url: string;
  /** Empty until the request has arrived. */
  body: string;
  fate: string;
}

const KEPT_POSTS = 500;

/** A chat is named in the address of a request, or in its body. */
function isAbout({ url, body }: PostRequest, conversation: string): boolean {
  return url.includes(`/${conversation}/`) || body.includes(`"${conversation}"`);
}

/** A proxy in front of an HTTP server that loses, cuts, doubles and delays. */
export class FaultyHttpProxy {
  readonly #server: Server;
  readonly #target: URL;
  readonly #shares: FaultShares;
  readonly #random: Random;
  readonly #pending = new Set<PostRequest>();
  /** The last POST requests, for the report of a failure. */
  readonly #posts: PostRequest[] = [];
  /** Number of requests that could have met each fault. */
  readonly #chances = { lost: 0, cut: 0, doubled: 0, delayed: 0 };
  /** Number of requests that met each fault. */
  readonly counts = { requests: 0, lost: 0, cut: 0, doubled: 0, delayed: 0 };

  private constructor(target: string, shares: FaultShares, random: Random) {
    this.#target = new URL(target);
    this.#shares = shares;
    this.#random = random;
    this.#server = createServer((asked, answer) => {
      this.#pass(asked, answer).catch(() => answer.destroy());
    });
  }

  static async listen(target: string, shares: FaultShares, random: Random): Promise<FaultyHttpProxy> {
    const proxy = new FaultyHttpProxy(target, shares, random);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Answers whether a POST request that names the conversation is on its way, perhaps for a page that has left. */
  isPending(conversation: string): boolean {
    return [...this.#pending].some((post) => post.body === '' || isAbout(post, conversation));
  }

  /** Describes the last POST requests that name the conversation: when they came, their last message, and their fate. */
  describePosts(conversation: string): string[] {
    const posts = this.#posts.filter((post) => isAbout(post, conversation));
    return posts.map(({ at, body, fate }) => `${new Date(at).toISOString()} ${body.slice(-300)} ${fate}`);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  /** A fault that chance has left out for too long is met now, so that a short run has each fault. */
  #meets(fault: keyof FaultShares): boolean {
    const share = this.#shares[fault];
    this.#chances[fault] += 1;
    const isOverdue = this.counts[fault] === 0 && this.#chances[fault] * share >= MOST_OVERDUE;
    const isMet = this.#random.chance(share) || isOverdue;
    if (isMet) this.counts[fault] += 1;
    return isMet;
  }

  async #pass(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    this.counts.requests += 1;
    const post: PostRequest = { at: Date.now(), url: asked.url ?? '', body: '', fate: 'read' };
    if (asked.method === 'POST') {
      this.#pending.add(post);
      this.#posts.push(post);
      if (this.#posts.length > KEPT_POSTS) this.#posts.shift();
    }
    try {
      post.body = await text(asked);
      await this.#passBody(asked, answer, post);
    } finally {
      this.#pending.delete(post);
      post.fate += ` until ${new Date().toISOString()}`;
    }
  }

  async #passBody(asked: IncomingMessage, answer: ServerResponse, post: PostRequest): Promise<void> {
    const { body } = post;
    const isCall = asked.url?.startsWith('/v1/') === true;
    if (isCall && this.#meets('delayed')) await sleep(this.#random.next() * MAX_DELAY_MS);
    if (isCall && this.#meets('lost')) {
      post.fate = 'lost';
      answer.destroy();
      return;
    }
    if (asked.method === 'POST' && this.#meets('doubled')) {
      const first = await this.#send(asked, body);
      post.fate = `doubled, first answer ${first?.statusCode}`;
      first?.resume();
    }
    const sent = await this.#send(asked, body);
    post.fate += `, answered ${sent?.statusCode}`;
    if (sent === undefined) {
      answer.destroy();
      return;
    }
    answer.writeHead(sent.statusCode ?? 502, sent.headers);
    answer.flushHeaders();
    answer.once('close', () => sent.destroy());
    sent.once('error', () => answer.destroy());
    sent.pipe(answer);
    if (!isCall || !this.#meets('cut')) return;
    await sleep(this.#random.next() * MAX_WHOLE_MS);
    answer.destroy();
  }

  /** @returns undefined if the server is away */
  async #send({ method, url, headers }: IncomingMessage, body: string): Promise<IncomingMessage | undefined> {
    const { hostname, port } = this.#target;
    const sent = request({ hostname, port, method, path: url, headers });
    sent.end(body);
    const answered = Promise.withResolvers<IncomingMessage | undefined>();
    sent.once('response', answered.resolve).once('error', () => answered.resolve(undefined));
    return await answered.promise;
  }
}
