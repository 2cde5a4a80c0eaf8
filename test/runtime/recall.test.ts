import { afterAll, expect, it } from 'vitest';
import type { Agent } from '../../src/domain/agent.ts';
import type { ModelRequest } from '../../src/domain/model.ts';
import type { ScriptedOutcome } from '../../src/providers/scripted.ts';
import { readRecallAnswer } from '../workers/recall/recall-answers.ts';
import { agentOf, countSteps, words } from './agents.ts';
import { openFixture, settled } from './fixture.ts';

const ID = 'INV-2024-7731';

const fixture = await openFixture();

afterAll(() => fixture.close());

/** Searches for the words of the input, reads the best hit whole, and says what it read. */
function decide(request: ModelRequest): ScriptedOutcome {
  const last = request.messages.at(-1)?.content ?? '';
  const call = (given: Readonly<Record<string, unknown>>) => ({ toolCalls: [{ name: 'recall', arguments: given }] });
  switch (countSteps(request)) {
    case 0:
      return call({ query: last });
    case 1: {
      const seq = readRecallAnswer(last).messages[0]?.seq;
      return call({ from: seq, to: seq });
    }
    default:
      return { content: readRecallAnswer(last).messages[0]?.text ?? '' };
  }
}

function createAgent(): Agent {
  const summarizer = { models: ['scripted'] };
  const policy = { messageThreshold: 8, retentionWindow: 2, summarizer };
  const agent = agentOf({
    decide: (request) =>
      isSummary(request) ? { content: '## State\nriver stone garden window market' } : decide(request),
    policy,
  });
  return { ...agent, recall: true };
}

const isSummary = ({ tools }: ModelRequest): boolean => tools.length === 0;

it('the recall tool finds and reads a summarized message, but no message of another conversation', async () => {
  await fixture.startWorkers(createAgent());
  const part = (text: string) => [
    { role: 'user' as const, content: words(10) },
    { role: 'assistant' as const, content: words(400) },
    { role: 'assistant' as const, content: `${words(400)} ${text}` },
  ];
  for (const [conversation, id] of [
    ['r1', ID],
    ['r2', 'INV-2024-1111'],
  ] as const) {
    const messages = [...part(`The invoice is ${id}.`), ...part('Paid.'), ...part('Done.')];
    await fixture.client.append({ conversation, agent: 'guide', messages });
    await fixture.untilCompacted(conversation);
  }
  const { items } = await fixture.client.context('r1');
  expect(items.filter(({ message }) => message.role === 'summary')).toHaveLength(2);
  expect(JSON.stringify(items)).not.toContain(`${words(400)} The invoice`);

  const { turn } = await fixture.client.enqueueTurn({ conversation: 'r1', agent: 'guide', input: 'invoice INV-2024' });
  const { state, answer } = await settled(fixture, 'r1', turn);
  expect(state).toBe('completed');
  expect(answer?.content).toBe(`${words(400)} The invoice is ${ID}.`);
  const log = await fixture.client.log('r1');
  const [search] = log.filter(({ message }) => message.role === 'tool').map(({ message }) => message.content);
  expect(readRecallAnswer(search ?? '')).toMatchObject({
    messages: [{ seq: 3, author: 'assistant', text: expect.stringContaining(ID) }],
    last: '',
  });
  expect(JSON.stringify(log)).not.toContain('1111');
});
