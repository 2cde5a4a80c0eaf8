import { z } from 'zod';
import { type Agent, defineTool, type Tool } from '../../src/domain/agent.ts';
import type { Model } from '../../src/domain/model.ts';
import type { PolicyInput } from '../../src/domain/policy.ts';
import { chatModel } from '../../src/providers/openai/chat-model.ts';

export const AGENT = 'clerk';
/** Start of the first message of each conversation. */
export const CUSTOMER = 'I am customer';
const PIN = 'Never quote a price in "dollars".';

/** Conversations of a few dozen turns exceed this small window many times, and some turns wait for a pass. */
const PROFILE = {
  id: 'clerk-1',
  encoding: 'o200k_base' as const,
  windowTokens: 3_000,
  outputCapTokens: 200,
  upperBoundFactor: 1.1,
};

const POLICY: PolicyInput = {
  maxTokens: 1_100,
  tokenThreshold: 1_950,
  retentionWindow: 4,
  minSequenceTokens: 100,
  pins: [PIN],
  summarizer: { models: ['recorder'] },
};

/** The last words of a turn's input. They decide which tools the provider's model calls. */
export const PLANS = ['say', 'look', 'look twice', 'read', 'ask outside', 'pay'] as const;

/** Result of the tool `pay`. */
export const PAID = 'paid';

const elsewhere = defineTool({ name: 'pay', description: 'Pays a bill.', input: z.object({}) });
const unguarded: Tool = { ...elsewhere, run: async () => PAID };
const pay: Tool = { ...unguarded, needsApproval: true };

/** Definitions of the tool `pay` that deployments alternate between. A call that waits may meet each of them. */
const RELEASES: readonly (readonly Tool[])[] = [
  [pay],
  [unguarded],
  [pay],
  [elsewhere],
  [pay],
  [],
  [pay],
  [{ ...pay, name: 'pay_bill' }],
  [{ ...pay, input: z.object({ amount: z.number() }) }],
];

const tools = [
  defineTool({
    name: 'look',
    description: 'Looks a file up.',
    input: z.object({ path: z.string() }),
    run: async ({ path }) => `${path}: ${'the order was sent on the 14th of May. '.repeat(12)}`,
  }),
  defineTool({
    name: 'read',
    description: 'Reads a file.',
    input: z.object({}),
    run: async () => 'the order was sent on the 14th of May. '.repeat(80),
  }),
  defineTool({ name: 'ask_outside', description: 'Asks a person.', input: z.object({}) }),
];

/** @param release number of the deployment, which decides how the tool `pay` is defined */
export function createAgent(providerUrl: string, release: number): Agent {
  return {
    name: AGENT,
    system: 'You are a clerk.',
    model: chatModel({ profile: PROFILE, apiKey: 'sk-chaos', baseUrl: `${providerUrl}/v1` }),
    tools: [...tools, ...(RELEASES[release % RELEASES.length] ?? [])],
    policy: POLICY,
  };
}

/** The model that writes summaries. */
export function createRecorder(providerUrl: string): Model {
  const profile = { ...PROFILE, id: 'recorder', windowTokens: 32_000, outputCapTokens: 1_000 };
  return chatModel({ profile, apiKey: 'sk-chaos', baseUrl: `${providerUrl}/v1` });
}
