import { z } from 'zod';
import type { Agent } from '../../src/domain/agent.ts';
import { ModelError, type ModelRequest } from '../../src/domain/model.ts';
import { modelChain } from '../../src/providers/chain.ts';
import { type ScriptedOutcome, scriptedModel } from '../../src/providers/scripted.ts';

const input = z.object({ place: z.string().optional() });
/** A schema that changes its input. */
const house = z.object({ place: z.string() }).transform(({ place }) => ({ place: `house ${place}` }));

/** Gates by name. The input `hold x` streams a word, then waits for the gate x. */
export const gates = new Map<string, PromiseWithResolvers<void>>();

/** An agent for pages: it thinks and looks, asks the page, needs approval, waits or fails, as its input says. */
export function createFrontEndAgent(): Agent {
  return {
    name: 'guide',
    system: 'You guide.',
    policy: {},
    tools: [
      { name: 'look', description: 'runs in the worker', input, run: async () => JSON.stringify({ sky: 'blue' }) },
      { name: 'locate', description: 'runs in the page', input },
      {
        name: 'pay',
        description: 'needs approval',
        input: house,
        needsApproval: true,
        run: async (paid) => (paid as z.output<typeof house>).place,
      },
      { name: 'book', description: 'needs approval', input, needsApproval: true, run: async () => 'booked' },
    ],
    // The first model breaks off when its input says so. The second one answers then.
    model: modelChain([scriptedModel({ decide }), scriptedModel({ decide: answerPlainly })]),
  };
}

function answerPlainly({ messages }: ModelRequest): ScriptedOutcome {
  const isFailing = messages.at(-1)?.content === 'fail';
  return isFailing ? new ModelError('fatal', 'the model is broken') : { content: 'All is well.' };
}

function decide({ messages }: ModelRequest): ScriptedOutcome {
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  const results = messages.slice(asked + 1).filter(({ role }) => role === 'tool');
  const text = messages[asked]?.content ?? '';
  const usage = { inputTotal: 10, output: 5, outputKept: 5 };
  // Asks for approval twice, one call after the other.
  if (results.length === 1 && text.startsWith('twice ')) return { toolCalls: [{ name: 'book', arguments: {} }], usage };
  if (results.length > 0) return { content: `So: ${results.map(({ content }) => content).join(' | ')}`, usage };
  const [word = '', rest = ''] = text.split(/ (.*)/s);
  const names = rest.split(',');
  if (word === 'call' || word === 'twice') {
    const toolCalls = names.map((name) => ({ name, arguments: { place: 'here' } }));
    return { reasoning: 'I need a tool. ', content: 'One moment.', toolCalls, usage };
  }
  if (word === 'fail') return new ModelError('fatal', 'the model is broken');
  if (word === 'break') return { content: breakOff(rest) };
  if (word === 'hold') return { reasoning: 'Hm, ', content: hold(rest), usage };
  return { content: `heard ${text} after ${asked} messages`, usage };
}

async function* hold(name: string): AsyncGenerator<string> {
  yield 'One ';
  await gates.get(name)?.promise;
  yield 'two.';
}

async function* breakOff(name: string): AsyncGenerator<string> {
  yield 'Nothing ';
  await gates.get(name)?.promise;
  throw new ModelError('fatal', 'the model broke off');
}
