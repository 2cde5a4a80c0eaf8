import { generateText, stepCountIs, ToolLoopAgent, tool, wrapLanguageModel } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { generateText as generateText5, stepCountIs as stepCountIs5, tool as tool5 } from 'ai5';
import { MockLanguageModelV2 } from 'ai5/test';
import {
  generateText as generateText6,
  stepCountIs as stepCountIs6,
  tool as tool6,
  wrapLanguageModel as wrapLanguageModel6,
} from 'ai6';
import { MockLanguageModelV3 } from 'ai6/test';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { aiSdkMiddleware, aiSdkPrepareStep } from '../../src/compact.ts';
import { page } from './dialects.ts';
import { countRequest, expectPaired } from './requests.ts';

const STEPS = 60;
const WINDOW = 8_000;
const prompt = 'Read all pages, and say what is in them.';
const system = 'You read pages.';
const inputSchema = z.object({ page: z.number() });

/** A model that calls the tool in each step but the last, and keeps what it was asked. */
class ReadingModel {
  readonly prompts: unknown[][] = [];

  /** The content of the next answer, which is the same in all versions. */
  answer(asked: readonly unknown[]) {
    this.prompts.push(structuredClone([...asked]));
    const step = this.prompts.length;
    const isLast = step === STEPS;
    const call = {
      type: 'tool-call',
      toolCallId: `call-${step}`,
      toolName: 'read',
      input: `{"page":${step}}`,
    } as const;
    const content = isLast ? [{ type: 'text', text: 'Invoices.' } as const] : [call];
    return { content, reason: isLast ? ('stop' as const) : ('tool-calls' as const), warnings: [] };
  }
}

const total = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 };
const usage = { inputTokens: total, outputTokens: { total: 1, text: 1, reasoning: 0 } };

function expectInside(prompts: readonly (readonly unknown[])[], steps = STEPS): void {
  expect(prompts).toHaveLength(steps);
  const sizes = prompts.map(countRequest);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(WINDOW);
  expect(Math.max(...sizes)).toBeGreaterThan(WINDOW / 2);
  for (const asked of prompts) expectPaired(asked);
  // The start of a request is the request before, except where a compaction was due.
  const changes = prompts.slice(1).filter((asked, index) => {
    const before = prompts[index] as readonly unknown[];
    return before.some((message, at) => JSON.stringify(message) !== JSON.stringify(asked[at]));
  });
  expect(changes.length).toBeGreaterThan(2);
  expect(changes.length).toBeLessThan(steps / 4);
}

function openModel7(): { readonly model: MockLanguageModelV4; readonly prompts: unknown[][] } {
  const reading = new ReadingModel();
  const model = new MockLanguageModelV4({
    doGenerate: async ({ prompt: asked }) => {
      const { content, reason, warnings } = reading.answer(asked);
      return { content, finishReason: { unified: reason, raw: reason }, usage, warnings };
    },
  });
  return { model, prompts: reading.prompts };
}

const read = tool({ inputSchema, execute: async ({ page: number }) => page(number) });

describe('loops of the AI SDK', () => {
  test('prepareStep of the AI SDK 7 keeps a loop of 60 tool calls inside the window', async () => {
    const { model, prompts } = openModel7();
    const prepareStep = aiSdkPrepareStep({ window: WINDOW });
    const { text } = await generateText({
      model,
      system,
      prompt,
      tools: { read },
      stopWhen: stepCountIs(STEPS + 1),
      prepareStep,
    });
    expect(text).toBe('Invoices.');
    expectInside(prompts);
  });

  test('prepareStep of the AI SDK 7 serves two conversations of one agent at once', async () => {
    const models = [openModel7(), openModel7()];
    const prepareStep = aiSdkPrepareStep({ window: WINDOW });
    await Promise.all(
      models.map(async ({ model }, index) => {
        const stopWhen = stepCountIs(STEPS + 1);
        const agent = new ToolLoopAgent({ model, instructions: system, tools: { read }, stopWhen, prepareStep });
        await agent.generate({ prompt: `${prompt} You are reader ${index}.` });
      }),
    );
    for (const [index, { prompts }] of models.entries()) {
      expectInside(prompts);
      expect(JSON.stringify(prompts.at(-1))).toContain(`You are reader ${index}.`);
      expect(JSON.stringify(prompts.at(-1))).not.toContain(`You are reader ${1 - index}.`);
    }
  });

  test('the middleware of a model of the AI SDK 7 keeps a loop of 60 tool calls inside the window', async () => {
    const { model, prompts } = openModel7();
    const wrapped = wrapLanguageModel({ model, middleware: aiSdkMiddleware({ window: WINDOW }) });
    const stopWhen = stepCountIs(STEPS + 1);
    const { text, steps } = await generateText({ model: wrapped, system, prompt, tools: { read }, stopWhen });
    expect(text).toBe('Invoices.');
    expect(steps).toHaveLength(STEPS);
    expectInside(prompts);
  });

  test('prepareStep and the middleware keep a loop of the AI SDK 6 inside the window', async () => {
    for (const slot of ['step', 'middleware'] as const) {
      const reading = new ReadingModel();
      const model = new MockLanguageModelV3({
        doGenerate: async ({ prompt: asked }) => {
          const { content, reason, warnings } = reading.answer(asked);
          return { content, finishReason: { unified: reason, raw: reason }, usage, warnings };
        },
      });
      const middleware = { ...aiSdkMiddleware({ window: WINDOW }), specificationVersion: 'v3' as const };
      await generateText6({
        model: slot === 'step' ? model : wrapLanguageModel6({ model, middleware }),
        system,
        prompt,
        tools: { read: tool6({ inputSchema, execute: async ({ page: number }) => page(number) }) },
        stopWhen: stepCountIs6(STEPS + 1),
        ...(slot === 'step' && { prepareStep: aiSdkPrepareStep({ window: WINDOW, system }) }),
      });
      expect(reading.prompts).toHaveLength(STEPS);
      expectInside(reading.prompts);
    }
  });

  test('prepareStep keeps a loop of the AI SDK 5 inside the window', async () => {
    const reading = new ReadingModel();
    const model = new MockLanguageModelV2({
      doGenerate: async ({ prompt: asked }) => {
        const { content, reason, warnings } = reading.answer(asked);
        return { content, finishReason: reason, usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 }, warnings };
      },
    });
    await generateText5({
      model,
      system,
      prompt,
      tools: { read: tool5({ inputSchema, execute: async ({ page: number }) => page(number) }) },
      stopWhen: stepCountIs5(STEPS + 1),
      prepareStep: aiSdkPrepareStep({ window: WINDOW, system }),
    });
    expect(reading.prompts).toHaveLength(STEPS);
    expectInside(reading.prompts);
  });
});
