/** A support agent: it looks up orders, asks for approval before a refund, and hands difficult questions to a person. */
import { defineAgent, defineTool, scriptedModel, type Tool, type TurnContext } from 'turnfold';
import { z } from 'zod';

const order = z.string().regex(/^o-\d+$/);

const findOrder = defineTool({
  name: 'find_order',
  description: 'Look up an order by its id.',
  input: z.object({ order }),
  run: async (input) => JSON.stringify({ order: input.order, item: 'blue jacket', state: 'delivered', price: 49 }),
});

/** A person decides before it runs: `turnfold answer … --approve`, or `client.answer`. */
const refund = defineTool({
  name: 'refund',
  description: 'Refund an order.',
  input: z.object({ order }),
  needsApproval: true,
  run: async (input, { idempotencyKey }) => `refunded ${input.order} (payment ${idempotencyKey.slice(-8)})`,
});

/** Without `run`, the result comes from outside: `turnfold answer … --content <text>`, or `client.answer`. */
const askPerson = defineTool({
  name: 'ask_person',
  description: 'Ask a person of the support team.',
  input: z.object({ question: z.string() }),
});

/** Rules that stand for a model. */
const model = scriptedModel({
  decide: ({ messages }) => {
    const last = messages.at(-1);
    if (last?.role === 'tool') return { content: `Here is the result: ${last.content}` };
    const text = last?.content ?? '';
    const [id] = /\bo-\d+\b/.exec(text) ?? [];
    if (id === undefined) return { toolCalls: [{ name: 'ask_person', arguments: { question: text } }] };
    return { toolCalls: [{ name: /refund/i.test(text) ? 'refund' : 'find_order', arguments: { order: id } }] };
  },
});

export const agents = [
  defineAgent({
    name: 'support',
    system: (context: TurnContext) =>
      `You help customers of a clothes shop. Customer: ${JSON.stringify(context['customer'] ?? 'unknown')}.`,
    model,
    tools: [findOrder, refund, askPerson] as Tool[],
    policy: { pins: ['Never promise a delivery date.'] },
  }),
];
