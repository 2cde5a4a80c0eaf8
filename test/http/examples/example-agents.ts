import { z } from 'zod';
import type { Agent } from '../../../src/domain/agent.ts';
import { ModelError, type ModelRequest } from '../../../src/domain/model.ts';
import { type ScriptedOutcome, scriptedModel } from '../../../src/providers/scripted.ts';

const order = z.object({ order: z.string() });

/** Agents of a shop. The question decides whether the agent reads, asks, needs an approval or fails. */
export function createExampleAgents(): Agent[] {
  const support: Agent = {
    name: 'support',
    system: 'You help customers of a shop.',
    policy: {},
    tools: [
      { name: 'find_order', description: 'Finds an order.', input: order, run: async () => 'On its way, due Monday.' },
      { name: 'ask_customer', description: 'Asks the customer.', input: z.object({ question: z.string() }) },
      {
        name: 'refund',
        description: 'Refunds an order.',
        input: order,
        needsApproval: true,
        run: async () => 'Refunded.',
      },
    ],
    model: scriptedModel({ decide }),
  };
  return [
    support,
    { ...support, name: 'careful', policy: { mode: 'review', messageThreshold: 14, retentionWindow: 2 } },
  ];
}

const usage = { inputTotal: 120, output: 12, outputKept: 12 };

function decide({ messages }: ModelRequest): ScriptedOutcome {
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  const results = messages.slice(asked + 1).filter(({ role }) => role === 'tool');
  const text = messages[asked]?.content ?? '';
  if (results.length > 0) return { content: `Done: ${results.at(-1)?.content}`, usage };
  if (text.includes('Where')) return { toolCalls: [{ name: 'find_order', arguments: { order: '4711' } }], usage };
  if (text.includes('Refund')) return { toolCalls: [{ name: 'refund', arguments: { order: '4711' } }], usage };
  if (text.includes('Change')) {
    return { toolCalls: [{ name: 'ask_customer', arguments: { question: 'To which address?' } }], usage };
  }
  if (text.includes('broken')) return new ModelError('fatal', 'the provider refused the request');
  return { content: 'You are welcome.', usage };
}
