import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { AppendInput } from '../../src/api/client/index.ts';
import type { Agent } from '../../src/domain/agent.ts';
import { scriptedModel } from '../../src/providers/scripted.ts';
import { compact, type Fixture, openFixture } from '../client/fixture.ts';
import { readConversationFiles } from '../wire/traces.ts';

/** A text that would change the page if the page read it as HTML. */
export const HOSTILE = `<img src=x onerror="document.title='hacked'"><script>document.title='hacked'</script>`;
const WORD_MS = 20;

type Messages = AppendInput['messages'];

/** Recorded conversations of a shop, without system messages, which the agent has. */
function readRecorded(): Messages[] {
  const { conversations = [] } = readConversationFiles().find(({ name }) => name === 'tau2_retail') ?? {};
  return conversations.map(({ messages }) => messages.filter(({ role }) => role !== 'system'));
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

/** Workers of two agents, and conversations that were recorded and compacted. */
export async function openScene(): Promise<Fixture> {
  const fixture = await openFixture();
  await fixture.startWorkers([shop, reviewed]);
  const append = (conversation: string, messages: Messages | undefined, agent = 'shop') =>
    fixture.client.append({ conversation, agent, messages: messages ?? [] });
  const [first, second, third, fourth] = readRecorded();
  await append('retail', first);
  await compact(fixture, 'retail');
  await append('retail', second);
  await compact(fixture, 'retail');
  await append('review', third, 'reviewed');
  await append('refused', third, 'reviewed');
  await append('hostile', hostileTalk());
  await compact(fixture, 'hostile');
  // No worker has this agent, so nothing compacts the conversation.
  await append('quiet', fourth, 'unworked');
  return fixture;
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
