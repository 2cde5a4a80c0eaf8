// An agent of Mastra whose tool results grow past the window of its model. The model is scripted.
import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { mastraProcessor } from 'turnfold/compact';
import { z } from 'zod';
import { page, Requests, STEPS, WINDOW } from './scripted-loop.ts';

const requests = new Requests();
const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };

const model = {
  specificationVersion: 'v2' as const,
  provider: 'scripted',
  modelId: 'scripted',
  supportedUrls: {},
  doGenerate: async ({ prompt }: { readonly prompt: readonly unknown[] }) => {
    const step = requests.add(prompt);
    const text = { type: 'text' as const, text: 'Invoices.' };
    const call = {
      type: 'tool-call' as const,
      toolCallId: `call-${step}`,
      toolName: 'read',
      input: `{"page":${step}}`,
    };
    return step === STEPS
      ? { content: [text], finishReason: 'stop' as const, usage, warnings: [] }
      : { content: [call], finishReason: 'tool-calls' as const, usage, warnings: [] };
  },
  doStream: async () => {
    throw new Error('this example does not stream');
  },
};

const read = createTool({
  id: 'read',
  description: 'Reads a page.',
  inputSchema: z.object({ page: z.number() }),
  execute: async ({ page: number }) => page(number),
});

const agent = new Agent({
  id: 'reader',
  name: 'Reader',
  instructions: 'You read pages.',
  model,
  tools: { read },
  inputProcessors: [mastraProcessor({ window: WINDOW })],
});
const { text } = await agent.generate('Read all pages, and say what is in them.', { maxSteps: STEPS + 1 });
requests.report(text);
