import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Pace {
  readonly tokens: number;
  readonly msPerToken: number;
}

/** ms before the first token of an answer. */
const FIRST_TOKEN_MS = 300;
const TOKEN = ' blue';

/** A provider of the Chat Completions API that streams its answers at the pace of a model. */
export class PacedProvider {
  /** Times at which the first token of an answer was written, by the text of the last user message. */
  readonly firstTokens = new Map<string, number>();
  /** Tokens that all answers have sent. */
  tokens = 0;
  /** Answers that have sent a token and are not complete. */
  streaming = 0;
  readonly #server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => void chunks.push(chunk));
    request.on('end', () => {
      const { messages } = JSON.parse(Buffer.concat(chunks).toString()) as { messages: { content: string }[] };
      this.#answer(response, messages.at(-1)?.content ?? '').catch(() => response.destroy());
    });
  });
  readonly #pace: Pace;

  constructor(pace: Pace) {
    this.#pace = pace;
  }

  /** Starts the server. @returns its URL */
  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #answer(response: ServerResponse, input: string): Promise<void> {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const send = (choice: object, usage: object | null = null): void => {
      const chunk = {
        id: 'x',
        object: 'chat.completion.chunk',
        created: 1,
        model: 'clerk-1',
        choices: [choice],
        usage,
      };
      response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    };
    const { tokens, msPerToken } = this.#pace;
    await sleep(FIRST_TOKEN_MS);
    const startedAt = performance.now();
    this.streaming += 1;
    for (let sent = 0; sent < tokens; ) {
      // A busy event loop sends the tokens that are late at once, as a network does.
      const due = Math.min(tokens, 1 + Math.floor((performance.now() - startedAt) / msPerToken));
      for (; sent < due; sent += 1, this.tokens += 1)
        send({ index: 0, delta: { content: TOKEN }, finish_reason: null });
      if (!this.firstTokens.has(input)) this.firstTokens.set(input, performance.now());
      await sleep(msPerToken);
    }
    this.streaming -= 1;
    const usage = { prompt_tokens: 20, completion_tokens: tokens, total_tokens: tokens + 20 };
    send({ index: 0, delta: {}, finish_reason: 'stop' }, usage);
    response.end('data: [DONE]\n\n');
  }
}
