// An agent of LangChain whose tool results grow past the window of its model. The model is scripted.
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, type BaseMessage, HumanMessage } from '@langchain/core/messages';
import type { ChatResult } from '@langchain/core/outputs';
import { createAgent, createMiddleware, tool } from 'langchain';
import { langchainMiddleware } from 'turnfold/compact';
import { z } from 'zod';
import { page, Requests, STEPS, WINDOW } from './scripted-loop.ts';

const requests = new Requests();

class ScriptedModel extends BaseChatModel {
  _llmType(): string {
    return 'scripted';
  }

  override bindTools(): this {
    return this;
  }

  async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const step = requests.add(messages.map((message) => message.toDict()));
    const message =
      step === STEPS
        ? new AIMessage('Invoices.')
        : new AIMessage({ content: '', tool_calls: [{ id: `call-${step}`, name: 'read', args: { page: step } }] });
    return { generations: [{ text: '', message }] };
  }
}

const read = tool(async ({ page: number }) => page(number), {
  name: 'read',
  description: 'Reads a page.',
  schema: z.object({ page: z.number() }),
});

const agent = createAgent({
  model: new ScriptedModel({}),
  tools: [read],
  systemPrompt: 'You read pages.',
  middleware: [createMiddleware(langchainMiddleware({ window: WINDOW }))],
});
const question = new HumanMessage('Read all pages, and say what is in them.');
const { messages } = await agent.invoke({ messages: [question] }, { recursionLimit: 10 * STEPS });
requests.report(messages.at(-1)?.content, messages.length);
