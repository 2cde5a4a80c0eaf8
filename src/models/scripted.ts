import type { Message, Role, ToolCall } from '../domain/message.ts';
import {
  type Model,
  type ModelAnswer,
  ModelError,
  type ModelProfile,
  type ModelRequest,
  type ModelUsage,
} from '../domain/model.ts';
import { untilAborted } from './answer-stream.ts';

/** An answer of a script. Other fields of `ModelAnswer` have defaults. */
export interface ScriptedAnswer {
  /** Text, streamed word by word, or its pieces, streamed as they come. */
  readonly content?: string | AsyncIterable<string>;
  /** Calls of the answer. */
  readonly toolCalls?: readonly {
    /** Provider's id. Default `call_<index>`. */
    readonly id?: string;
    /** Tool name. */
    readonly name: string;
    /** Arguments as an object, or as the exact text. */
    readonly arguments: string | Readonly<Record<string, unknown>>;
  }[];
  /** End of the answer. Default complete. */
  readonly end?: ModelAnswer['end'];
  /** Usage as a provider would report it. */
  readonly usage?: ModelUsage;
  /** Item of the provider. */
  readonly raw?: unknown;
}

/** An answer or an error to throw. A promise delays the call until it settles. */
export type ScriptedOutcome = ScriptedAnswer | Error | Promise<ScriptedAnswer | Error>;

export interface ScriptedStep {
  /** Conditions on the request. A mismatch is a fatal error that names the difference. */
  readonly expect?: {
    /** Role of the last message. */
    readonly role?: Role;
    /** Text of the last message, or a pattern that it matches. */
    readonly content?: string | RegExp;
    /** Number of messages. */
    readonly messages?: number;
  };
  /** Answer of the model. */
  readonly answer: ScriptedOutcome | ((request: ModelRequest) => ScriptedOutcome);
}

export interface ScriptedModelOptions {
  /** Overrides of the scripted model's profile. */
  readonly profile?: Partial<ModelProfile>;
}

export interface ScriptedModel extends Model {
  /** Calls so far. */
  readonly callCount: number;
  /** Throws an error if steps were not used. */
  assertDone(): void;
}

export const SCRIPTED_PROFILE: ModelProfile = {
  id: 'scripted',
  encoding: 'o200k_base',
  windowTokens: 32_000,
  outputCapTokens: 4_096,
  upperBoundFactor: 1,
};

/**
 * A model without a network. `steps` answers the expected calls in order, and fails on any other. `decide` answers by
 * the request's contents, so that a repeated step gets the same answer.
 */
export function scriptedModel(
  options: ScriptedModelOptions &
    ({ readonly steps: readonly ScriptedStep[] } | { readonly decide: (request: ModelRequest) => ScriptedOutcome }),
): ScriptedModel {
  const profile = { ...SCRIPTED_PROFILE, ...options.profile };
  const steps = 'steps' in options ? options.steps : undefined;
  const decide = 'steps' in options ? undefined : options.decide;
  let callCount = 0;
  return {
    profile,
    get callCount() {
      return callCount;
    },
    async generate(request) {
      request.signal.throwIfAborted();
      const number = callCount;
      callCount += 1;
      const outcome = decide === undefined ? takeStep(steps?.[number], number, request) : decide(request);
      return await untilAborted(request.signal, () => speak(outcome, request));
    },
    assertDone() {
      const unused = (steps?.length ?? 0) - callCount;
      if (unused > 0) throw new Error(`scripted model: ${unused} of ${steps?.length} steps were not used`);
    },
  };
}

function takeStep(step: ScriptedStep | undefined, number: number, request: ModelRequest): ScriptedOutcome {
  if (step === undefined) throw new ModelError('fatal', `scripted model: unexpected call ${number + 1}`);
  const difference = findDifference(step.expect ?? {}, request.messages);
  if (difference !== undefined) throw new ModelError('fatal', `scripted model: call ${number + 1}: ${difference}`);
  return typeof step.answer === 'function' ? step.answer(request) : step.answer;
}

function findDifference(
  { role, content, messages }: NonNullable<ScriptedStep['expect']>,
  sent: readonly Message[],
): string | undefined {
  const last = sent.at(-1);
  if (messages !== undefined && sent.length !== messages) return `${sent.length} messages, expected ${messages}`;
  if (role !== undefined && last?.role !== role) return `last message of ${last?.role ?? 'none'}, expected ${role}`;
  if (content === undefined) return undefined;
  const text = last?.content ?? '';
  const isMet = typeof content === 'string' ? text === content : content.test(text);
  return isMet ? undefined : `last message is not ${String(content)}`;
}

/** Streams the text of an outcome, then returns the whole answer. */
async function speak(outcome: ScriptedOutcome, request: ModelRequest): Promise<ModelAnswer> {
  const given = await outcome;
  if (given instanceof Error) throw given;
  const { content = '', ...others } = given;
  const pieces = typeof content === 'string' ? (content.match(/\s*\S+|\s+$/g) ?? []) : content;
  let text = '';
  for await (const piece of pieces) {
    request.onText?.(piece);
    text += piece;
  }
  return completeAnswer(text, others);
}

function completeAnswer(
  content: string,
  { toolCalls = [], end, usage, raw }: Omit<ScriptedAnswer, 'content'>,
): ModelAnswer {
  const calls = toolCalls.map(
    (call, index): ToolCall => ({
      id: call.id ?? `call_${index}`,
      name: call.name,
      arguments: typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments),
    }),
  );
  return {
    content,
    toolCalls: calls,
    ...(end !== undefined && { end }),
    ...(usage !== undefined && { usage }),
    ...(raw !== undefined && { raw }),
  };
}
