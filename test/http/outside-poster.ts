import { Worker } from 'node:worker_threads';

export interface OutsideAnswer {
  readonly status: number;
  /** Start of the answer. */
  readonly text: string;
}

/** Runs in a thread, so that the work of a client is not measured with the work of the server. */
const CODE = `
const { parentPort } = require('node:worker_threads');
const { Agent, request } = require('node:http');
const agent = new Agent({ keepAlive: true });
parentPort.on('message', ({ url, body }) => {
  const headers = { 'content-type': 'application/json', 'content-length': body.byteLength };
  const sent = request(url, { method: 'POST', agent, headers }, (response) => {
    let text = '';
    response.setEncoding('utf8');
    response.on('data', (piece) => { if (text.length < 2_000) text += piece; });
    response.on('end', () => answer({ status: response.statusCode, text }));
  });
  // A server may answer before it has read the body, and then cut the connection.
  let isAnswered = false;
  const answer = (answered) => {
    if (!isAnswered) parentPort.postMessage(answered);
    isAnswered = true;
  };
  sent.on('error', (error) => answer({ status: 0, text: String(error) }));
  sent.end(Buffer.from(body));
});`;

/** A client that posts JSON from a thread of its own, one request at a time. */
export class OutsidePoster {
  readonly #worker = new Worker(CODE, { eval: true });

  async post(url: string, body: Uint8Array): Promise<OutsideAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<OutsideAnswer>();
    this.#worker.once('message', resolve);
    this.#worker.once('error', reject);
    this.#worker.postMessage({ url, body }, []);
    try {
      return await promise;
    } finally {
      this.#worker.off('error', reject);
    }
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }
}
