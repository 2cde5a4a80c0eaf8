// A run of the OpenAI Agents SDK whose tool results grow past the window of its model. The model is scripted.
import { Agent, MemorySession, type Model, Runner, tool, Usage } from '@openai/agents-core';
import { openaiAgentsFilter } from 'turnfold/compact';
import { z } from 'zod';
import { page, Requests, STEPS, WINDOW } from './scripted-loop.ts';

const requests = new Requests();

const model: Model = {
  getResponse: async ({ input }) => {
    const step = requests.add(typeof input === 'string' ? [input] : input);
    const output =
      step === STEPS
        ? [
            {
              type: 'message' as const,
              role: 'assistant' as const,
              status: 'completed' as const,
              content: [{ type: 'output_text' as const, text: 'Invoices.' }],
            },
          ]
        : [
            {
              type: 'function_call' as const,
              callId: `call-${step}`,
              name: 'read',
              status: 'completed' as const,
              arguments: `{"page":${step}}`,
            },
          ];
    return { usage: new Usage(), output };
  },
  async *getStreamedResponse() {
    throw new Error('this example does not stream');
  },
};

const read = tool({
  name: 'read',
  description: 'Reads a page.',
  parameters: z.object({ page: z.number() }),
  execute: async ({ page: number }) => page(number),
});

const agent = new Agent({ name: 'Reader', instructions: 'You read pages.', model, tools: [read] });
const session = new MemorySession();
const runner = new Runner({ tracingDisabled: true, callModelInputFilter: openaiAgentsFilter({ window: WINDOW }) });
const result = await runner.run(agent, 'Read all pages, and say what is in them.', { session, maxTurns: STEPS + 1 });
requests.report(result.finalOutput, (await session.getItems()).length);
