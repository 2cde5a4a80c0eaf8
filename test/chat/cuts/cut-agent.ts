import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { Agent } from '../../../src/domain/agent.ts';
import { ModelError, type ModelRequest } from '../../../src/domain/model.ts';
import { modelChain } from '../../../src/providers/chain.ts';
import { type ScriptedOutcome, scriptedModel } from '../../../src/providers/scripted.ts';

const PIECE = 'and so on, ';
/** A worker sends pieces every 50 ms. */
const PIECE_MS = 55;
const input = z.object({ place: z.string().optional() });

/** Gates by name. The message `hold x` streams a piece, then waits for the gate x. */
export const gates = new Map<string, PromiseWithResolvers<void>>();

/** Calls of the model by name, so that a message can fail once and then succeed. */
const attempts = new Map<string, number>();

export const CUT_AGENT = 'cutter';

/** An agent for chats that are cut. The first words of a message say what happens. A name makes each message unique. */
export function createCutAgent(): Agent {
  return {
    name: CUT_AGENT,
    system: 'You talk.',
    policy: { maxTokens: 3_000 },
    tools: [
      { name: 'look', description: 'runs in the worker', input, run: async () => ({ sky: 'blue' }) },
      {
        name: 'break',
        description: 'fails',
        input,
        run: async () => {
          throw new Error('the tool broke');
        },
      },
      {
        name: 'paint',
        description: 'emits values',
        input,
        run: async (_, { emit }) => {
          emit('picture', { colour: 'red' });
          return 'painted';
        },
      },
      { name: 'locate', description: 'runs in the page', input },
      { name: 'book', description: 'needs approval', input, needsApproval: true, run: async () => 'booked' },
    ],
    model: modelChain([scriptedModel({ decide }), scriptedModel({ decide: answerPlainly })]),
  };
}

function answerPlainly(request: ModelRequest): ScriptedOutcome {
  const asked = request.messages.at(-1)?.content ?? '';
  if (asked.startsWith('fail')) return new ModelError('fatal', 'the model is broken');
  return { content: asked.startsWith('waver') ? think(request, 2, say(3, 'plain')) : say(3, 'plain') };
}

function decide(request: ModelRequest): ScriptedOutcome {
  const { messages } = request;
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  const text = messages[asked]?.content ?? '';
  const usage = { inputTotal: 10, output: 5, outputKept: 5 };
  const results = messages.slice(asked + 1).filter(({ role }) => role === 'tool');
  const [word = '', name = '', rest = ''] = text.split(' ', 3);
  const [first = '', ...others] = rest.split('+');
  // Calls after a + are made one round later.
  const round = [first, ...others][messages.slice(asked + 1).filter(({ role }) => role === 'assistant').length];
  if ((word === 'call' || word === 'think') && round !== undefined && round !== '') {
    const toolCalls = round.split(',').map((tool) => ({ name: tool, arguments: { place: 'here' } }));
    const before = say(2, 'before');
    return { content: word === 'think' ? think(request, 3, before) : before, toolCalls, usage };
  }
  if (results.length > 0) return { content: say(3, results.map(({ content }) => content).join('|')), usage };
  if (word === 'fail') return new ModelError('fatal', 'the model is broken');
  if (word === 'break') return { content: breakOff() };
  if (word === 'waver') return { content: think(request, 3, breakOff()) };
  if (word === 'retry' && countAttempt(name) === 1)
    return new ModelError('retry', 'busy', { retryAt: Date.now() + 50, isLimit: false });
  if (word === 'hold') return { content: hold(name), usage };
  if (word === 'brood') return { content: think(request, 2, hold(name)), usage };
  const heard = say(Number(rest) || 4, `heard ${word}`);
  return { content: word === 'think' ? think(request, 4, heard) : heard, usage };
}

function countAttempt(name: string): number {
  const count = (attempts.get(name) ?? 0) + 1;
  attempts.set(name, count);
  return count;
}

/** Shows reasoning in pieces, and then the text. */
async function* think(
  { onReasoning }: ModelRequest,
  pieces: number,
  text: AsyncIterable<string>,
): AsyncGenerator<string> {
  for await (const piece of say(pieces, 'thought')) onReasoning?.(piece);
  await sleep(PIECE_MS);
  yield* text;
}

async function* say(pieces: number, what: string): AsyncGenerator<string> {
  for (let piece = 1; piece <= pieces; piece += 1) {
    if (piece > 1) await sleep(PIECE_MS);
    yield `${what} ${piece} ${PIECE}`;
  }
}

async function* hold(name: string): AsyncGenerator<string> {
  yield* say(2, 'held');
  await gates.get(name)?.promise;
  yield* say(2, 'released');
}

async function* breakOff(): AsyncGenerator<string> {
  yield* say(2, 'void');
  throw new ModelError('fatal', 'the model broke off');
}
