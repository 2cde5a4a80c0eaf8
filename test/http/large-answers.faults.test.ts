import { once } from 'node:events';
import { type ClientRequest, get, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Fixture, openFixture, SHARDS } from '../client/fixture.ts';
import { startServe } from './serve-process.ts';

const MESSAGES = 42;
const TEXT = 'and so on '.repeat(100_000);
const HEAP_MB = 200;
const READERS = 6;
const TIMEOUT_MS = 180_000;

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
  for (let at = 0; at < MESSAGES; at += 3) {
    const messages = Array.from({ length: 3 }, () => ({ role: 'user' as const, content: TEXT }));
    await fixture.client.append({ conversation: 'large', agent: 'talker', messages });
  }
}, TIMEOUT_MS);
afterAll(() => fixture.close());

/** Opens an answer and reads nothing of its body. */
async function open(url: string): Promise<{ readonly sent: ClientRequest; readonly response: IncomingMessage }> {
  const sent = get(url, { agent: false });
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return { sent, response };
}

async function countBytes(response: IncomingMessage): Promise<number> {
  let bytes = 0;
  for await (const chunk of response) bytes += (chunk as Buffer).length;
  return bytes;
}

test(
  'a server with a heap of 200 MB sends six exports, chats, contexts or pages of 42 MB of messages at a time',
  async () => {
    const env = {
      REDIS_URL: fixture.url,
      TURNFOLD_SHARDS: String(SHARDS),
      NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}`,
    };
    const server = await startServe(env, '--agent', 'talker');
    const conversation = `${server.url}/v1/conversations/large`;
    for (const whole of [`${conversation}/export`, `${server.url}/v1/chat/large`]) {
      // All answers have begun before the first is read.
      const answers = await Promise.all(Array.from({ length: READERS }, () => open(whole)));
      const read = await Promise.all(answers.map(({ response }) => countBytes(response)));
      for (const bytes of read) expect(bytes, whole).toBeGreaterThan(MESSAGES * TEXT.length);
    }
    for (const path of ['context', 'messages?view=active&limit=1000', 'messages?limit=1000']) {
      const answers = Array.from({ length: READERS }, async () => {
        const { response } = await open(`${conversation}/${path}`);
        return [response.statusCode, (await countBytes(response)) > TEXT.length];
      });
      expect(await Promise.all(answers), path).toEqual(answers.map(() => [200, true]));
    }
    const rendered = await open(`${conversation}/context?format=anthropic`);
    expect(rendered.response.statusCode).toBe(413);
    rendered.sent.destroy();
    expect(server.process.exitCode).toBeNull();
  },
  TIMEOUT_MS,
);
