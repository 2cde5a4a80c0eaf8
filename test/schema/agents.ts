import { z } from 'zod';
import type { Agent } from '../../src/domain/agent.ts';
import type { ModelRequest } from '../../src/domain/model.ts';
import type { ScriptedOutcome } from '../../src/providers/scripted.ts';
import type { Build } from './build.ts';

/**
 * Agents of both builds. The input `call a,b` calls the tools a and b.
 * @param holds true: the input `hold` gets no answer
 */
export function createAgents({ defineTool, scriptedModel }: Build, holds: boolean): Agent[] {
  const input = z.object({});
  const talker: Agent = {
    name: 'talker',
    system: 'You talk.',
    policy: {},
    tools: [
      defineTool({ name: 'echo', description: 'runs in the worker', input, run: async () => 'echoed' }),
      { name: 'ask', description: 'runs elsewhere', input },
      { name: 'risk', description: 'has to be allowed', input, needsApproval: true, run: async () => 'risked' },
    ],
    model: scriptedModel({ decide: (request) => decide(request, holds) }),
  };
  return [talker, { ...talker, name: 'careful', policy: { mode: 'review', messageThreshold: 14, retentionWindow: 2 } }];
}

function decide({ messages }: ModelRequest, holds: boolean): ScriptedOutcome {
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  const results = messages.slice(asked + 1).filter(({ role }) => role === 'tool');
  if (results.length > 0) return { content: results.map(({ content }) => content).join(' | ') };
  const text = messages[asked]?.content ?? '';
  if (text === 'hold' && holds) return new Promise(() => undefined);
  const names = /^call (.+)$/.exec(text)?.[1]?.split(',') ?? [];
  if (names.length > 0) return { toolCalls: names.map((name) => ({ name, arguments: {} })) };
  return { content: `heard ${text}` };
}
