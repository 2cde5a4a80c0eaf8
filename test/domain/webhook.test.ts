import { describe, expect, test } from 'vitest';
import type { ConversationEvent } from '../../src/domain/conversation-event.ts';
import { nameForWebhook, retryDelay, type Webhook, writeWebhookBody } from '../../src/domain/webhook.ts';

const webhook: Webhook = { id: 'w', tenant: 't', url: 'https://a.example/', events: ['turn.settled'], createdAt: 1 };
const settled: ConversationEvent = { id: '5-0', at: 5, type: 'turn_settled', turn: 't1', state: 'completed' };
const ended: ConversationEvent = { id: '6-0', at: 6, type: 'pass_ended', passId: 'p', outcome: 'none' };

describe('webhooks', () => {
  test('a webhook receives the events that it names, of its agent or of all agents', () => {
    expect(nameForWebhook(webhook, settled, 'one')).toBe('turn.settled');
    expect(nameForWebhook(webhook, ended, 'one')).toBeUndefined();
    expect(nameForWebhook({ ...webhook, events: ['turn.waiting'] }, settled, 'one')).toBeUndefined();
    expect(nameForWebhook({ ...webhook, agent: 'one' }, settled, 'one')).toBe('turn.settled');
    expect(nameForWebhook({ ...webhook, agent: 'one' }, settled, 'two')).toBeUndefined();
    expect(nameForWebhook({ ...webhook, agent: 'one' }, settled, undefined)).toBeUndefined();
  });

  test('the body of a request names the event, its time and its conversation', () => {
    const conversation = { tenant: 't', id: 'c1' };
    const data = { tenant: 't', conversation: 'c1', id: '5-0', turn: 't1', state: 'completed' };
    const head = { type: 'turn.settled', timestamp: '1970-01-01T00:00:00.005Z' };
    expect(JSON.parse(writeWebhookBody('turn.settled', settled, { conversation }))).toEqual({ ...head, data });
    expect(JSON.parse(writeWebhookBody('turn.settled', settled, { conversation, agent: 'one' }))).toEqual({
      ...head,
      data: { ...data, agent: 'one' },
    });
  });

  test('the pause after a failed request doubles from 5 s to 10 min', () => {
    expect([1, 2, 3, 7, 8, 1_000].map(retryDelay)).toEqual([5_000, 10_000, 20_000, 320_000, 600_000, 600_000]);
  });
});
