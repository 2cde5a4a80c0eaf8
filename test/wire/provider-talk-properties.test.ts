/**
 * Runs whole conversations with the strict provider, a test server. The thinking, reasoning and item ids that the
 * server issued are sent back to it. They are valid only after the same messages (wire rule A8) and with the same model
 * (wire rule R6). Items that came together must stay together (wire rules R2, R3).
 */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Message } from '../../src/domain/message.ts';
import type { ScriptedPart } from '../provider/answer.ts';
import type { JsonObject } from '../provider/json.ts';
import { type Provider, startProvider } from '../provider/provider.ts';
import { countRuns } from '../setup/count-runs.ts';
import { ROUTES, type Route } from './routes.ts';

const RUNS = { numRuns: countRuns(160) };
const THINKING = ['none', 'plain', 'redacted', 'between', 'doubled', 'behind text', 'last'] as const;

/**
 * A change of the context before a model call. All changes except `none` and `model` are recorded in the log by a new
 * version number or a new prefix.
 */
const CHANGES = [
  'none',
  'none',
  'none',
  'none',
  'model',
  'system',
  'cut before the turn',
  'cut inside the turn',
] as const;

interface Step {
  readonly thinking: (typeof THINKING)[number];
  readonly text: string;
  readonly change: (typeof CHANGES)[number];
}

interface Round extends Step {
  readonly callNames: readonly string[];
}

interface Turn {
  readonly rounds: readonly Round[];
  readonly end: Step;
}

const step = {
  thinking: fc.constantFrom(...THINKING),
  text: fc.constantFrom('', 'I look.', 'ends blank \n'),
  change: fc.constantFrom(...CHANGES),
};
// No tool has the second name, so describing it changes the prefix of the request.
const callName = fc.oneof({ weight: 9, arbitrary: fc.constant('read') }, fc.constant('gone'));
const turn: fc.Arbitrary<Turn> = fc.record({
  rounds: fc.array(fc.record({ ...step, callNames: fc.array(callName, { minLength: 1, maxLength: 3 }) }), {
    maxLength: 4,
  }),
  end: fc.record(step),
});
const talks = fc.array(turn, { minLength: 1, maxLength: 4 });

/** The agent's side of a conversation: the log, the part that was cut from the context, and the current model. */
class Talk {
  /** Tool names of the calls, in order. */
  readonly called: string[] = [];
  readonly #route: Route;
  readonly #provider: Provider;
  #messages: Message[] = [];
  #version = 0;
  #step = 0;
  #model = 1;

  constructor(route: Route, provider: Provider) {
    this.#route = route;
    this.#provider = provider;
  }

  async hold(turns: readonly Turn[]): Promise<void> {
    for (const { rounds, end } of turns) {
      this.#messages.push({ role: 'user', content: 'And now?' });
      for (const round of rounds) await this.#take(round, round.callNames);
      await this.#take(end, []);
    }
  }

  /** @throws if the server refuses the request */
  async #take(taken: Step, callNames: readonly string[]): Promise<void> {
    this.#change(taken.change);
    this.#provider.respond({ parts: partsOf(taken, callNames) });
    const answer = await this.#route.ask(this.#provider, {
      model: `model-${this.#model}`,
      system: 'Be brief.',
      tools: [{ name: 'read', description: 'Reads.', parameters: { type: 'object', properties: {} } }],
      messages: this.#messages,
      version: this.#version,
      maxOutputTokens: 4_096,
    });
    this.#step += 1;
    const toolCalls = answer.toolCalls?.map((call, index) => ({
      ...call,
      id: `c${this.#step}_${index}`,
      providerId: call.id,
    }));
    this.called.push(...(toolCalls ?? []).map(({ name }) => name));
    this.#messages.push({ ...answer, ...(toolCalls && { toolCalls }) });
    for (const { id } of toolCalls ?? []) this.#messages.push({ role: 'tool', toolCallId: id, content: 'found' });
  }

  #change(change: Step['change']): void {
    if (change === 'model') this.#model = 3 - this.#model;
    if (change === 'system') this.#messages.push({ role: 'system', content: 'It is late.' });
    if (!change.startsWith('cut')) return;
    const start = this.#messages.findLastIndex(({ role }) => role === 'user');
    const [before, question, after] = [
      this.#messages.slice(0, start),
      this.#messages.slice(start, start + 1),
      this.#messages.slice(start + 1),
    ];
    this.#messages =
      change === 'cut before the turn'
        ? [...shorten(before), ...question, ...after]
        : [...before, ...question, ...shorten(after)];
    this.#version += 1;
  }
}

function shorten(messages: readonly Message[]): Message[] {
  return messages.length === 0
    ? []
    : [{ role: 'summary', content: 'Files were read.', summary: { from: 1, to: messages.length } }];
}

/** Builds the parts of an answer. Every answer has some text at its end. */
function partsOf({ thinking, text, change }: Step, callNames: readonly string[]): ScriptedPart[] {
  const thought: ScriptedPart = { thinking: `Hm, ${change}.` };
  const said = text === '' && callNames.length === 0 ? 'Done.' : text;
  const words: ScriptedPart[] = said === '' ? [] : [{ text: said }];
  const calls = callNames.map((name): ScriptedPart => ({ call: { name, arguments: { path: 'a' } } }));
  switch (thinking) {
    case 'none':
      return [...words, ...calls];
    case 'plain':
      return [thought, ...words, ...calls];
    case 'redacted':
      return [{ ...thought, isRedacted: true }, ...words, ...calls];
    case 'between':
      return [thought, ...words, ...calls.flatMap((call) => [thought, call])];
    case 'doubled':
      return [thought, thought, ...words, ...calls];
    case 'behind text':
      return [...words, thought, ...calls];
    case 'last':
      return [thought, ...words, ...calls, thought];
  }
}

/**
 * Returns true if a Chat Completions server would require reasoning in the request. It requires the reasoning of every
 * call in the tool loop, by any model.
 */
function needsReasoning(turns: readonly Turn[]): boolean {
  return turns.every(({ rounds, end }) =>
    [...rounds, end].every(({ thinking, change }) => thinking !== 'none' && change !== 'model'),
  );
}

function countThinking({ body }: { readonly body: JsonObject }): number {
  const kinds = /"type":"(?:redacted_)?thinking"|"type":"reasoning"|"reasoning_content":/g;
  return JSON.stringify(body['messages'] ?? body['input']).match(kinds)?.length ?? 0;
}

describe.each(ROUTES)('$name', (route) => {
  test(`the ${route.name} provider accepts the thinking that turnfold sends back after any change of the context`, async () => {
    let sent = 0;
    await fc.assert(
      fc.asyncProperty(talks, async (turns) => {
        const strict = { ...route.strict, needsReasoning: needsReasoning(turns) };
        await using provider = await startProvider({ strict });
        const talk = new Talk(route, provider);
        await talk.hold(turns);
        expect(talk.called).toEqual(turns.flatMap(({ rounds }) => rounds.flatMap(({ callNames }) => callNames)));
        for (const request of provider.requests) sent += countThinking(request);
      }),
      RUNS,
    );
    expect(sent).toBeGreaterThan(RUNS.numRuns);
  }, 240_000);

  test(`the ${route.name} provider gets all of its thinking back while the context does not change`, async () => {
    const taken: Step = { thinking: 'plain', text: '', change: 'none' };
    const round: Round = { ...taken, callNames: ['read', 'read'] };
    await using provider = await startProvider({ strict: { ...route.strict, needsReasoning: true } });
    await new Talk(route, provider).hold([
      { rounds: [round, round], end: taken },
      { rounds: [round], end: taken },
    ]);
    // Wire rule C7: an open-weight model's reasoning is sent back only inside its tool loop.
    const expected = route.format === 'openai-chat' ? [0, 1, 2, 0, 1] : [0, 1, 2, 3, 4];
    expect(provider.requests.map(countThinking)).toEqual(expected);
  });
});
