import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { AppendInput } from '../../src/client/index.ts';
import type { Agent } from '../../src/domain/agent.ts';
import { createHttpApp } from '../../src/http/app.ts';
import { serveHttp } from '../../src/http/serve-http.ts';
import { withPage } from '../../src/http/static-page.ts';
import { scriptedModel } from '../../src/models/scripted.ts';
import { compact, type Fixture, openFixture } from '../client/fixture.ts';

/** The built page, which `npm run prepare` makes. */
const PAGE = fileURLToPath(new URL('../../dist/inspector', import.meta.url));
const TRACES = new URL('../../../shared/traces/', import.meta.url);

/** True if the built page and the recorded conversations are there. */
export const hasScene = existsSync(PAGE) && existsSync(TRACES);

/** A text that would change the page if the page read it as HTML. */
export const HOSTILE = `<img src=x onerror="document.title='hacked'"><script>document.title='hacked'</script>`;
const WORD_MS = 20;

type Messages = AppendInput['messages'];

/** A recorded conversation without its system messages, which the agent has. */
export function readRecorded(file: string, line = 0): Messages {
  const text = readFileSync(new URL(`${file}.jsonl`, TRACES), 'utf8').split('\n')[line] ?? '';
  const { messages } = JSON.parse(text) as { messages: Messages };
  return messages.filter(({ role }) => role !== 'system');
}

async function* speak(text: string): AsyncGenerator<string> {
  for (const word of text.split(' ')) {
    yield `${word} `;
    await sleep(WORD_MS);
  }
}

/** Answers slowly, and calls the tools that the user names: `call refund,courier`. */
const model = scriptedModel({
  decide: ({ messages }) => {
    const asked = messages.findLastIndex(({ role }) => role === 'user');
    const results = messages.slice(asked + 1).filter(({ role }) => role === 'tool');
    if (results.length > 0) return { content: speak(`Done: ${results.map(({ content }) => content).join(', ')}.`) };
    const names = /call ([\w,]+)/.exec(messages[asked]?.content ?? '')?.[1]?.split(',') ?? [];
    if (names.length === 0) return { content: speak('Your order W4711 left the warehouse this morning.') };
    const toolCalls = names.map((name) => ({ name, arguments: { order: 'W4711', note: HOSTILE } }));
    return { content: speak('Let me look that up.'), toolCalls };
  },
});

const input = z.object({ order: z.string(), note: z.string() });
const shop: Agent = {
  name: 'shop',
  system: 'You help customers of a shop.',
  model,
  policy: { maxTokens: 3_000, retentionWindow: 4 },
  tools: [
    { name: 'lookup', description: 'Finds an order.', input, run: async () => 'shipped' },
    { name: 'refund', description: 'Pays money back.', input, needsApproval: true, run: async () => 'refunded' },
    { name: 'courier', description: 'Asks the courier, elsewhere.', input },
  ],
};
const reviewed: Agent = {
  ...shop,
  name: 'reviewed',
  policy: { mode: 'review', messageThreshold: 14, retentionWindow: 2, maxTokens: 3_000 },
};

export interface Scene extends Fixture {
  /** Serves the page and its routes. */
  serve(isReadOnly?: boolean): Promise<string>;
}

/** Workers of two agents, and conversations that were recorded and compacted. */
export async function openScene(): Promise<Scene> {
  const fixture = await openFixture();
  const { client } = fixture;
  const stops: (() => Promise<unknown>)[] = [];
  await fixture.startWorkers([shop, reviewed]);
  const append = (conversation: string, messages: Messages, agent = 'shop') =>
    client.append({ conversation, agent, messages });
  await append('retail', readRecorded('tau2_retail'));
  await compact(fixture, 'retail');
  await append('retail', readRecorded('tau2_retail', 1));
  await compact(fixture, 'retail');
  await append('review', readRecorded('tau2_retail', 2), 'reviewed');
  await append('hostile', hostileTalk());
  await compact(fixture, 'hostile');
  // No worker has this agent, so nothing compacts the conversation.
  await append('quiet', readRecorded('tau2_retail', 3), 'unworked');
  return {
    ...fixture,
    async serve(isReadOnly = false) {
      const app = createHttpApp({ client, isReadOnly });
      const fetch = withPage(PAGE, app.fetch);
      const server = await serveHttp({ app: { fetch, close: () => app.close() }, host: '127.0.0.1', port: 0 });
      stops.push(() => server.close(1_000));
      return server.url;
    },
    async close() {
      for (const stop of stops) await stop();
      await fixture.close();
    },
  };
}

function hostileTalk(): Messages {
  return [
    { role: 'user', content: HOSTILE },
    { role: 'assistant', content: `\u202Eright to left\u202C ${HOSTILE}` },
    { role: 'user', content: `one line: ${'x'.repeat(1_000_000)}` },
    { role: 'assistant', content: 'A long line.' },
    { role: 'user', content: 'שלום עולם' },
    { role: 'assistant', content: '‮<b>bold</b>' },
  ];
}
