import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import type { ServerEvent } from './dialect.ts';
import { type ErrorReply, type RawAnswer, writePage } from './fault.ts';
import type { JsonObject } from './json.ts';

const EVENT_STREAM = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' };

/** Writes one response. Every promise settles when the client disconnects. */
export class Sender {
  readonly #response: ServerResponse;
  readonly #gone = new AbortController();

  constructor(response: ServerResponse, headers: Readonly<Record<string, string>>) {
    this.#response = response;
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    response.once('close', () => this.#gone.abort());
  }

  async sendJson(body: JsonObject): Promise<void> {
    await this.#send(200, JSON.stringify(body));
  }

  async sendError({ status, headers = {}, body }: ErrorReply): Promise<void> {
    for (const [name, value] of Object.entries(headers)) this.#response.setHeader(name, value);
    if (typeof body === 'string') await this.#send(status, body, 'text/html; charset=UTF-8');
    else await this.#send(status, JSON.stringify(body));
  }

  async sendEvents(events: readonly ServerEvent[], delayMs = 0): Promise<void> {
    await this.startEvents(events, delayMs);
    this.end();
  }

  /** Sends events and leaves the stream open. */
  async startEvents(events: readonly ServerEvent[], delayMs = 0): Promise<void> {
    if (!this.#response.headersSent) this.#response.writeHead(200, EVENT_STREAM);
    for (const { event, data } of events) {
      await this.pause(delayMs);
      const name = event === undefined ? '' : `event: ${event}\n`;
      await this.#write(`${name}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`);
    }
  }

  async pause(ms: number): Promise<void> {
    if (ms > 0) await wait(ms, undefined, { signal: this.#gone.signal }).catch(() => {});
  }

  async sendGarbage(as: 'page' | 'json' | 'event', isStream: boolean): Promise<void> {
    if (as === 'page') return this.sendError({ ...writePage(200, 'OK'), status: 200 });
    if (as === 'json') return this.sendJson({ ok: true });
    if (!isStream) return this.#send(200, '{"id": "x", "cho');
    return this.sendEvents([{ event: 'message_start', data: '{"type": "mess' }]);
  }

  /** Sends a response exactly as given. An event has its name in the field `type`. */
  async sendRaw({ status = 200, headers = {}, body, isCut = false }: RawAnswer): Promise<void> {
    for (const [name, value] of Object.entries(headers)) this.#response.setHeader(name, value);
    if (typeof body === 'string') return this.#send(status, body, 'text/html; charset=UTF-8');
    if (!isEventList(body)) return this.#send(status, JSON.stringify(body));
    const events = body.map((data) => ({ ...nameOf(data), data }));
    return this.sendEvents(isCut ? events : [...events, { data: '[DONE]' }]);
  }

  /** Sends half of the body. The header declares the length of the whole body, unless `isOrderly` is true. */
  async sendHalf(body: JsonObject, isOrderly: boolean): Promise<void> {
    const text = JSON.stringify(body);
    const length = isOrderly ? {} : { 'content-length': String(Buffer.byteLength(text)) };
    this.#response.writeHead(200, { 'content-type': 'application/json', ...length });
    await this.#write(text.slice(0, text.length / 2));
  }

  end(): void {
    this.#response.end();
  }

  drop(): void {
    this.#response.destroy();
  }

  /** Waits until the client disconnects. */
  async hang(): Promise<void> {
    this.#response.flushHeaders();
    if (!this.#response.closed) await once(this.#response, 'close');
  }

  async #send(status: number, text: string, contentType = 'application/json'): Promise<void> {
    this.#response.writeHead(status, {
      'content-type': contentType,
      'content-length': String(Buffer.byteLength(text)),
    });
    await this.#write(text);
    this.end();
  }

  /** Resolves when the text was sent. A connection that is closed next has then delivered it. */
  async #write(text: string): Promise<void> {
    if (this.#response.destroyed) return;
    await new Promise<void>((resolve) => {
      this.#response.write(text, () => resolve());
    });
  }
}

function isEventList(body: RawAnswer['body']): body is readonly (JsonObject | string)[] {
  return Array.isArray(body);
}

function nameOf(data: JsonObject | string): { readonly event?: string } {
  return typeof data !== 'string' && typeof data['type'] === 'string' ? { event: data['type'] } : {};
}
