import { constantFrom, record, string } from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { Tool } from '../../src/domain/agent.ts';
import type { Model, ModelAnswer, ModelUsage } from '../../src/domain/model.ts';
import { ModelError } from '../../src/domain/model.ts';
import { modelChain } from '../../src/providers/chain.ts';
import { type ScriptedOutcome, scriptedModel } from '../../src/providers/scripted.ts';
import { callSummaryModel } from '../../src/summarize/model/model-call.ts';
import { Fixture } from '../workers/turn/fixture.ts';
import { badJson, badValue, type Make, spoiled, tryBatch } from './cases.ts';

const TIMEOUT_MS = 600_000;
const { profile } = scriptedModel({ decide: () => ({}) });

const callOnce = (toolArguments = '{}'): Model =>
  scriptedModel({
    decide: ({ messages }): ScriptedOutcome =>
      messages.at(-1)?.role === 'tool'
        ? { content: 'done' }
        : { toolCalls: [{ name: 'act', arguments: toolArguments }] },
  });

function toolOf(run: () => Promise<unknown>, input: z.ZodType = z.unknown()): Tool {
  return { name: 'act', description: 'acts', input, run: run as () => Promise<string> };
}

/** One delivery settles the turn for any behaviour of its model and tools. */
async function answer(model: Model, tools: readonly Tool[] = []) {
  const world = await Fixture.open({ model, tools });
  await world.accept('t1', 'Hi');
  expect(await world.deliver()).toBe('done');
  expect(world.eventsOf('turn_claimed'), 'one delivery').toHaveLength(1);
  expect(world.eventsOf('worker_failed'), 'nothing failed unseen').toEqual([]);
  const view = await world.view('t1');
  expect(JSON.stringify(await world.readLog()).length, 'the log is bounded').toBeLessThan(4_000_000);
  expect(JSON.stringify(view?.failure ?? {}).length, 'the failure is bounded').toBeLessThan(100_000);
  return { world, view };
}

async function serveNeighbour(): Promise<void> {
  const { view } = await answer(callOnce(), [toolOf(async () => 'fine')]);
  expect(view).toMatchObject({ state: 'completed', answer: { content: 'done' } });
}

test(
  'a tool call runs once and gets an error result, whatever the tool throws',
  async () => {
    const run = async (thrown: unknown): Promise<void> => {
      let runs = 0;
      const act = async (): Promise<never> => {
        runs += 1;
        throw thrown;
      };
      const { world, view } = await answer(callOnce(), [toolOf(act)]);
      expect(view).toMatchObject({ state: 'completed' });
      expect(runs).toBe(1);
      expect((await world.readLog()).find(({ role }) => role === 'tool')).toMatchObject({ isError: true });
    };
    await tryBatch({ cases: 1_200, input: badValue(), run, serveNeighbour });
  },
  TIMEOUT_MS,
);

test(
  'a turn completes, whatever a tool returns',
  async () => {
    const valid = record({ content: string(), isError: constantFrom(true, false) });
    const run = async (given: unknown): Promise<void> => {
      const { view } = await answer(callOnce(), [toolOf(async () => given)]);
      expect(view).toMatchObject({ state: 'completed' });
    };
    await tryBatch({ cases: 600, input: badValue(), run, serveNeighbour });
    await tryBatch({ cases: 600, input: spoiled(valid), run, serveNeighbour });
  },
  TIMEOUT_MS,
);

test(
  'a turn settles, whatever arguments the model writes and whatever the schema of the tool throws',
  async () => {
    const run = async (given: unknown): Promise<void> => {
      const text = typeof given === 'string' ? given : JSON.stringify(given);
      const throwing = z.unknown().transform(() => {
        throw given;
      });
      for (const input of [z.record(z.string(), z.json()), throwing]) {
        const { view } = await answer(callOnce(text), [toolOf(async () => 'fine', input)]);
        expect(['completed', 'failed']).toContain(view?.state);
      }
    };
    await tryBatch({ cases: 600, input: badJson(), run, serveNeighbour });
  },
  TIMEOUT_MS,
);

/** A turn ends as completed or as `model_failed`, or it waits for a retry. */
function checkEnd(view: Awaited<ReturnType<typeof answer>>['view']): void {
  if (view?.state === 'failed')
    expect(['model_failed', 'budget_infeasible', 'context_overflow']).toContain(view.failure?.code);
  else expect(['completed', 'waiting']).toContain(view?.state);
}

test(
  'a turn settles or waits for a retry, whatever its model throws',
  async () => {
    expect.hasAssertions();
    const valid = record({
      kind: constantFrom('retry', 'invalid', 'fatal'),
      message: string(),
      options: record({ retryAt: constantFrom(0, 1_700_000_000_000), code: string(), form: string() }),
    });
    const throwing = (thrown: unknown): Model => ({
      profile,
      generate: async () => {
        throw thrown;
      },
    });
    const run = async (thrown: unknown): Promise<void> => checkEnd((await answer(throwing(thrown))).view);
    await tryBatch({ cases: 1_200, input: badValue(), run, serveNeighbour });
    const runCoded = async (given: unknown): Promise<void> => {
      const fields = given as { kind: 'fatal'; message: string; options: object };
      const error = new ModelError('fatal', 'x');
      for (const name of ['kind', 'message', 'options'] as const) {
        const property = Object.getOwnPropertyDescriptor(fields, name);
        if (property !== undefined) Object.defineProperty(error, name, property);
      }
      const options = Object.getOwnPropertyDescriptor(fields, 'options')?.value as unknown;
      if (typeof options === 'object' && options !== null && !('toJSON' in Object.getOwnPropertyDescriptors(options))) {
        Object.defineProperties(error, Object.getOwnPropertyDescriptors(options));
      }
      await run(error);
    };
    await tryBatch({ cases: 1_200, input: spoiled(valid, badPlain()), run: runCoded, serveNeighbour });
  },
  TIMEOUT_MS,
);

/** Without proxies, because the test itself assembles these fields. */
function badPlain(): ReturnType<typeof badValue> {
  return badValue().map(
    (make): Make =>
      () => {
        const value = make();
        try {
          return typeof value === 'object' && value !== null ? (Object.getPrototypeOf(value), value) : value;
        } catch {
          return undefined;
        }
      },
  );
}

test(
  'a turn settles or waits for a retry, whatever its model answers, alone or in a chain',
  async () => {
    expect.hasAssertions();
    const valid = record(
      {
        content: string(),
        toolCalls: constantFrom([], [{ id: 'x', name: 'act', arguments: '{}' }]),
        end: constantFrom('complete', 'cut_off', 'refusal'),
        usage: record({ inputTotal: constantFrom(9), output: constantFrom(3), outputKept: constantFrom(3) }),
        model: string({ minLength: 1 }),
        raw: record({ format: constantFrom('openai-chat'), model: string(), items: constantFrom([{ a: 1 }]) }),
      },
      { requiredKeys: ['content', 'toolCalls'] },
    );
    const run = async (given: unknown): Promise<void> => {
      let calls = 0;
      const once: Model = {
        profile,
        generate: async () => {
          calls += 1;
          return (calls <= 2 ? given : { content: 'end', toolCalls: [] }) as ModelAnswer;
        },
      };
      const tools = [toolOf(async () => 'fine')];
      checkEnd((await answer(once, tools)).view);
      calls = 0;
      checkEnd((await answer(modelChain([once, once]), tools)).view);
    };
    await tryBatch({ cases: 1_500, input: spoiled(valid), run, serveNeighbour });
  },
  TIMEOUT_MS,
);

test(
  'a turn completes, whatever its model streams',
  async () => {
    const run = async (piece: unknown): Promise<void> => {
      const model: Model = {
        profile,
        generate: async ({ onText, onUsage, onPassedOver }) => {
          onUsage?.(piece as ModelUsage);
          onText?.('a');
          onText?.(piece as string);
          onPassedOver?.(piece as string, piece as 'fatal');
          onText?.(piece as string);
          return { content: 'a', toolCalls: [] };
        },
      };
      const { view } = await answer(model);
      expect(view).toMatchObject({ state: 'completed', answer: { content: 'a' } });
    };
    await tryBatch({ cases: 800, input: badValue(), run, serveNeighbour });
  },
  TIMEOUT_MS,
);

test(
  'a summarization call ends with a known status, whatever its model throws or answers',
  async () => {
    const request = { system: '', content: 'text', tokens: 1, maxOutputTokens: 100 };
    const ask = async (generate: () => Promise<ModelAnswer>): Promise<void> => {
      const setup = { model: { profile, generate }, clock: { now: () => Date.now() }, timeoutMs: 10_000 };
      const { status } = await callSummaryModel(setup, request, { signal: new AbortController().signal });
      expect(['answered', 'failed', 'overflow']).toContain(status);
    };
    const run = async (value: unknown): Promise<void> => {
      await ask(async () => value as ModelAnswer);
      await ask(async () => {
        throw value;
      });
    };
    await tryBatch({ cases: 1_000, input: badValue(), run, serveNeighbour });
  },
  TIMEOUT_MS,
);
