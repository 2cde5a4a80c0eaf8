import { expect } from 'vitest';
import type { Message } from '../../src/domain/message.ts';
import { type Model, type ModelAnswer, ModelError } from '../../src/domain/model.ts';
import { checkAnswer, refuseEmptyAnswer } from '../../src/domain/model-answer.ts';
import { ask, connect, PROFILE } from '../models/fixture.ts';
import { type Provider, startProvider } from '../provider/provider.ts';
import type { Behaviour, Expectation, Step } from './behaviour.ts';

const QUESTION: Message = { role: 'user', content: 'Which files?' };

/** Plays a behaviour through the provider's SDK, and checks what turnfold makes of it. */
export async function playBehaviour({ format, model: id = PROFILE.id, profile, replies, steps }: Behaviour) {
  const answers = replies.map((answer) => ({ fault: 'raw' as const, answer }));
  await using provider = await startProvider({ answers, strict: false });
  const model = connect(format, provider, { profile: { ...PROFILE, id, ...profile } });
  const history: Message[] = [];
  for (const [index, step] of (steps ?? []).entries()) {
    history.push(...(step.messages ?? (index === 0 ? [QUESTION] : [])));
    const outcome = await callModel(model, history, step);
    checkOutcome(outcome, step.effect);
    checkSent(provider, step);
    if (!(outcome instanceof ModelError)) history.push(toMessage(outcome, index), ...answerCalls(outcome, index));
  }
}

async function callModel(
  model: Model,
  messages: readonly Message[],
  { tools, version = 0 }: Step,
): Promise<ModelAnswer | ModelError> {
  try {
    const answer = checkAnswer(await model.generate(ask(messages, { version, ...(tools !== undefined && { tools }) })));
    refuseEmptyAnswer(answer);
    return answer;
  } catch (error) {
    if (error instanceof ModelError) return error;
    throw error;
  }
}

function checkOutcome(outcome: ModelAnswer | ModelError, effect: Expectation): void {
  if ('error' in effect) {
    expect(outcome).toBeInstanceOf(ModelError);
    const { error, code } = effect;
    expect(outcome).toMatchObject({ kind: error, ...(code !== undefined && { code }) });
    return;
  }
  if (outcome instanceof ModelError) throw outcome;
  const { text, calls, end } = effect;
  if (text !== undefined) expect(outcome.content).toBe(text);
  if (calls !== undefined) expect(outcome.toolCalls.map((call) => [call.name, call.arguments])).toEqual(calls);
  expect(outcome.end ?? 'complete').toBe(end ?? 'complete');
  const ids = outcome.toolCalls.map(({ id: given }) => given);
  expect(new Set(ids).size).toBe(ids.length);
}

function checkSent({ requests }: Provider, { sends = [], omits = [] }: Step): void {
  const sent = JSON.stringify(requests.at(-1)?.body);
  for (const pattern of sends) expect(sent).toMatch(pattern);
  for (const pattern of omits) expect(sent).not.toMatch(pattern);
}

/** Stores an answer as the log does, with ids of its own (`adoptMessages`). */
function toMessage({ content, toolCalls, raw }: ModelAnswer, step: number): Message {
  const calls = toolCalls.map((call, index) => ({ ...call, id: `c${step}_${index}`, providerId: call.id }));
  return { role: 'assistant', content, ...(calls.length > 0 && { toolCalls: calls }), raw };
}

function answerCalls({ toolCalls }: ModelAnswer, step: number): Message[] {
  return toolCalls.map((_, index) => ({ role: 'tool', content: 'found', toolCallId: `c${step}_${index}` }));
}
