import { z } from 'zod';
import type { Agent, ToolContext } from '../../src/domain/agent.ts';
import { scriptedModel } from '../../src/providers/scripted.ts';

/** An agent that calls its only tool, and then answers. */
export function createPainter(paint: (context: ToolContext) => Promise<string>, retry: 'safe' | 'never'): Agent {
  return {
    name: 'painter',
    system: '',
    policy: {},
    tools: [
      { name: 'paint', description: '', input: z.object({}), retry, run: async (_, context) => await paint(context) },
    ],
    model: scriptedModel({
      decide: ({ messages }) =>
        messages.at(-1)?.role === 'user' ? { toolCalls: [{ name: 'paint', arguments: {} }] } : { content: 'painted' },
    }),
  };
}
