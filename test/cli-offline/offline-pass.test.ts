import { describe, expect, it } from 'vitest';
import { NO_BACKOFF } from '../../src/domain/conversation.ts';
import type { Message } from '../../src/domain/message.ts';
import { EvaluatedPasses } from '../../src/evaluation/evaluated-passes.ts';
import {
  createOfflineSummarizers,
  prepareOfflineAgent,
  weighConversation,
} from '../../src/evaluation/offline-agent.ts';

const raw = { format: 'anthropic', model: 'm', items: [{ type: 'thinking', thinking: 'hm' }] } as const;

/** A turn in the middle of a thinking loop. */
const LOOP: readonly Message[] = [
  { role: 'user', content: 'Read it.' },
  { role: 'assistant', content: '', toolCalls: [{ id: 'c1', name: 'read', arguments: '{}' }], raw },
  { role: 'tool', content: ' word'.repeat(400), toolCallId: 'c1' },
];

async function open(tokenThreshold: number) {
  const policy = { maxTokens: 200, tokenThreshold, retentionWindow: 0 };
  const prepared = await prepareOfflineAgent(policy, { usableTokens: 10_000 });
  const passes = new EvaluatedPasses(prepared, await createOfflineSummarizers());
  for (const weighed of await weighConversation(LOOP, prepared)) passes.conversation.append(weighed);
  return passes;
}

describe('the state after an offline compaction pass', () => {
  it('an offline compaction pass leaves the backoff (pause of compaction) and its counts unchanged while a model thinks across tool calls', async () => {
    const passes = await open(300);
    expect(await passes.run(['token_threshold'])).toEqual({ kind: 'thinking', reasons: ['token_threshold'] });
    expect(passes.conversation.state).toMatchObject({ backoff: NO_BACKOFF, passed: { head: 0, turns: 0 } });
  });

  it('an offline compaction pass without a reason to compact starts a backoff (pause of compaction) and keeps its counts', async () => {
    const passes = await open(5_000);
    expect(await passes.run(['token_threshold'])).toEqual({ kind: 'no_reason', reasons: [] });
    const { backoff, passed } = passes.conversation.state;
    expect(backoff.nothingBelowTokens).toBeGreaterThan(400);
    expect(passed).toEqual({ head: 0, turns: 0 });
  });
});
