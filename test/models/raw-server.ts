import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readAll } from 'node:stream/consumers';
import type { ModelError } from '../../src/domain/model.ts';

export interface RawReply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Response body. An object is sent as JSON, a list as the events of a stream, and a string unchanged. */
  readonly body: object | string;
  /** The last event of a stream is sent when this promise settles. */
  readonly until?: Promise<void>;
}

export interface RawServer extends AsyncDisposable {
  readonly url: string;
  readonly requests: { readonly headers: Readonly<Record<string, unknown>> }[];
}

/**
 * Starts a server that sends the same response to every request. It can send responses that the strict test server
 * cannot.
 */
export async function serveRaw({ status = 200, headers = {}, body, until }: RawReply): Promise<RawServer> {
  const requests: RawServer['requests'] = [];
  const server = createServer((request, response) => {
    requests.push({ headers: request.headers });
    const isStream = Array.isArray(body);
    const type = isStream ? 'text/event-stream' : typeof body === 'string' ? 'text/html' : 'application/json';
    const parts = isStream
      ? [...body, '[DONE]'].map(writeEvent)
      : [typeof body === 'string' ? body : JSON.stringify(body)];
    void (async () => {
      await readAll(request);
      response.writeHead(status, { 'content-type': type, ...headers });
      if (until !== undefined) {
        response.write(parts.splice(0, parts.length - 2).join(''));
        await until;
      }
      response.end(parts.join(''));
    })();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

function writeEvent(event: object | string): string {
  if (typeof event === 'string') return `data: ${event}\n\n`;
  const name = 'type' in event ? `event: ${String(event.type)}\n` : '';
  return `${name}data: ${JSON.stringify(event)}\n\n`;
}

/** Returns the error of a failed call, whatever its class. */
export async function failureOf(promise: Promise<unknown>): Promise<ModelError> {
  return promise.then(
    () => {
      throw new Error('it was answered');
    },
    (error: ModelError) => error,
  );
}
