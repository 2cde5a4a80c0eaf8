import { Agent, type Model, tool, Usage } from '@openai/agents-core';
import { z } from 'zod';
import { page, Requests } from './scripted-loop.ts';

/** An agent of the OpenAI Agents SDK whose model is scripted. */
export class ScriptedReader {
  readonly requests = new Requests();
  readonly agent: Agent;

  /** @param answer returns the answer to a request, or undefined for a call of the tool */
  constructor(answer: (step: number, lastType: string | undefined) => string | undefined) {
    const model: Model = {
      getResponse: async ({ input }) => {
        const items = typeof input === 'string' ? [] : input;
        const step = this.requests.add(items);
        const text = answer(step, items.at(-1)?.type);
        return { usage: new Usage(), output: [text === undefined ? callOf(step) : messageOf(text)] };
      },
      async *getStreamedResponse() {
        throw new Error('these examples do not stream');
      },
    };
    this.agent = new Agent({ name: 'Reader', instructions: 'You read pages.', model, tools: [READ] });
  }
}

const READ = tool({
  name: 'read',
  description: 'Reads a page.',
  parameters: z.object({ page: z.number() }),
  execute: async ({ page: number }) => page(number),
});

function callOf(step: number) {
  const call = { callId: `call-${step}`, name: 'read', arguments: `{"page":${step}}` };
  return { type: 'function_call', status: 'completed', ...call } as const;
}

function messageOf(text: string) {
  const content = [{ type: 'output_text' as const, text }];
  return { type: 'message', role: 'assistant', status: 'completed', content } as const;
}
