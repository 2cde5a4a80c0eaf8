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

/** An answer that a scripted model gives. Fields of `ModelAnswer` that are missing here have defaults. */
export interface ScriptedAnswer {
  /**
   * Text of the answer. A string is streamed word by word, an async iterable piece by piece. Default `done`, or no text
   * beside tool calls.
   */
  readonly content?: string | AsyncIterable<string>;
  /** Reasoning that is streamed before the text. It is not part of the answer. */
  readonly reasoning?: string;
  /** Tool calls of the answer. */
  readonly toolCalls?: readonly {
    /** Call id, as a provider would set it. Default `call_<index>`. */
    readonly id?: string;
    readonly name: string;
    /** Arguments of the call as an object, or as the exact text. */
    readonly arguments: string | Readonly<Record<string, unknown>>;
  }[];
  /** How the answer ends. Default `complete`. */
  readonly end?: ModelAnswer['end'];
  /** Token usage as a provider would report it. */
  readonly usage?: ModelUsage;
  /** A provider's verbatim item of the answer. */
  readonly raw?: unknown;
}

/** A scripted answer, or an error to throw. A promise delays the call until it settles. */
export type ScriptedOutcome = ScriptedAnswer | Error | Promise<ScriptedAnswer | Error>;

export interface ScriptedStep {
  /** Conditions on the request. A request that breaks one fails with a `fatal` error that states the difference. */
  readonly expect?: {
    /** Expected role of the request's last message. */
    readonly role?: Role;
    /** Expected text of the last message, or a pattern that the text must match. */
    readonly content?: string | RegExp;
    /** Expected number of messages in the request. */
    readonly messages?: number;
  };
  /** Answer to this call, or a function of the request that returns the answer. */
  readonly answer: ScriptedOutcome | ((request: ModelRequest) => ScriptedOutcome);
}

export interface ScriptedModelOptions {
  readonly profile?: Partial<ModelProfile>;
}

export interface ScriptedModel extends Model {
  /** Number of calls of this model so far. */
  readonly callCount: number;
  /** Throws an error if the model was called fewer times than the script has steps. */
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
 * A model for tests, without a network. With `steps`, the model answers the calls in order, and throws on any further
 * call. With `decide`, a function chooses the answer from the request, so that a repeated call gets the same answer.
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
  if (step === undefined) throw new ModelError('fatal', `scripted model: call ${number + 1} is not in the script`);
  const difference = findDifference(step.expect ?? {}, request.messages);
  if (difference !== undefined) throw new ModelError('fatal', `scripted model: call ${number + 1}: ${difference}`);
  return typeof step.answer === 'function' ? step.answer(request) : step.answer;
}

function findDifference(
  { role, content, messages }: NonNullable<ScriptedStep['expect']>,
  sent: readonly Message[],
): string | undefined {
  const last = sent.at(-1);
  if (messages !== undefined && sent.length !== messages)
    return `the request has ${sent.length} messages, expected ${messages}`;
  if (role !== undefined && last?.role !== role)
    return `the last message has the role ${last?.role ?? 'none'}, expected ${role}`;
  if (content === undefined) return undefined;
  const text = last?.content ?? '';
  const isMet = typeof content === 'string' ? text === content : content.test(text);
  return isMet ? undefined : `the text of the last message does not match ${String(content)}`;
}

async function speak(outcome: ScriptedOutcome, request: ModelRequest): Promise<ModelAnswer> {
  const given = await outcome;
  if (given instanceof Error) throw given;
  const { content = given.toolCalls === undefined ? 'done' : '', reasoning = '', ...others } = given;
  if (reasoning !== '') request.onReasoning?.(reasoning);
  const pieces = typeof content === 'string' ? (content.match(/\s*\S+|\s+$/g) ?? []) : content;
  let text = '';
  for await (const piece of pieces) {
    request.onText?.(piece);
    text += piece;
  }
  const answer = completeAnswer(text, others);
  for (const [call, { name, arguments: written }] of answer.toolCalls.entries()) {
    request.onToolCall?.({ call, name });
    request.onToolCall?.({ call, arguments: written });
  }
  return answer;
}

function completeAnswer(
  content: string,
  { toolCalls = [], end, usage, raw }: Omit<ScriptedAnswer, 'content' | 'reasoning'>,
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
