import { z } from 'zod';
import type { Agent } from '../../src/domain/agent.ts';
import { ModelError, type ModelRequest } from '../../src/domain/model.ts';
import { readParts } from '../../src/domain/parts.ts';
import { type ScriptedOutcome, scriptedModel } from '../../src/providers/scripted.ts';

/** Gates by name. The input `hold x` streams a word, then waits for the gate x. */
export const gates = new Map<string, PromiseWithResolvers<void>>();

const input = z.looseObject({});

/**
 * An agent for front-ends of AG-UI. The input `call x` calls the tool x. `system` answers with the system prompt,
 * `files` with the kinds of files of the message. `history` answers with all messages before. `fail` fails.
 */
export function createSharingAgent(): Agent {
  return {
    name: 'sharer',
    system: 'You share.',
    policy: {},
    tools: [
      { name: 'read_state', description: 'reads', input, run: async (_, { context }) => JSON.stringify(context) },
      {
        name: 'count',
        description: 'changes the state',
        input,
        run: async (_, { context, emit }) => {
          const { count = 0 } = (context['state'] ?? {}) as { count?: number };
          emit('state', { count: count + 1 });
          return 'counted';
        },
      },
      { name: 'locate', description: 'runs in the page', input },
      { name: 'book', description: 'needs approval', input, needsApproval: true, run: async () => 'booked' },
    ],
    model: scriptedModel({ decide }),
  };
}

function decide({ messages, system, tools }: ModelRequest): ScriptedOutcome {
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  const results = messages.slice(asked + 1).filter(({ role }) => role === 'tool');
  const message = messages[asked] ?? { role: 'user' as const, content: '' };
  if (results.length > 0) return { content: `So: ${results.map(({ content }) => content).join(' | ')}` };
  const [word = '', rest = ''] = message.content.split(/ (.*)/s);
  switch (word) {
    case 'call':
      return {
        content: 'One moment.',
        toolCalls: rest.split(',').map((name) => ({ name, arguments: { place: 'x' } })),
      };
    case 'system':
      return {
        content: [system, ...messages.filter(({ role }) => role === 'system').map(({ content }) => content)].join('\n'),
      };
    case 'tools':
      return { content: tools.map(({ name }) => name).join(' ') };
    case 'files':
      return {
        content: readParts(message)
          .map(({ kind }) => kind)
          .join(' '),
      };
    case 'history':
      return {
        content: messages
          .slice(0, asked)
          .map(({ role, content }) => `${role}: ${content}`)
          .join(' | '),
      };
    case 'hold':
      return { content: hold(rest) };
    case 'fail':
      return new ModelError('fatal', 'the model is broken');
    default:
      return { content: `heard ${message.content}` };
  }
}

async function* hold(name: string): AsyncGenerator<string> {
  yield 'One ';
  await gates.get(name)?.promise;
  yield 'two.';
}
