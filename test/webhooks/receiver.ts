import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

export interface ReceivedWebhook {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Receiver {
  readonly url: string;
  readonly port: number;
  readonly received: ReceivedWebhook[];
}

/** Starts an HTTP server on 127.0.0.1 that receives webhooks. @param answer answers a request. Default: with 204 */
export async function openReceiver(
  answer: (response: ServerResponse, webhook: ReceivedWebhook) => void = (response) =>
    void response.writeHead(204).end(),
): Promise<Receiver> {
  const received: ReceivedWebhook[] = [];
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const webhook = { headers: request.headers, body: await text(request) };
    received.push(webhook);
    answer(response, webhook);
  };
  const server = createServer((request, response) => void receive(request, response));
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/hook`, port, received };
}
