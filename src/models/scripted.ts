import type { Message, Role, ToolCall } from '../domain/message.ts';
import {
  type Model,
  type ModelAnswer,
  ModelError,
  type ModelProfile,
  type ModelRequest,
  type ModelUsage,
} from '../domain/model.ts';

/** An answer as a script writes it: the rest of `ModelAnswer` has defaults. */
export interface ScriptedAnswer {
  /** a text, told word by word; or its pieces, each told when it comes */
  readonly content?: string | AsyncIterable<string>;
  /** `arguments`: an object, or the text as a model would write it; `id`: `call_<index>` unless given */
  readonly toolCalls?: readonly {
    /** as a provider would give it */
    readonly id?: string;
    /** the tool */
    readonly name: string;
    /** an object, or the very text */
    readonly arguments: string | Readonly<Record<string, unknown>>;
  }[];
  /** how the answer ends where it is not complete */
  readonly end?: ModelAnswer['end'];
  /** what a provider would count */
  readonly usage?: ModelUsage;
  /** the provider's item */
  readonly raw?: unknown;
}

/** A throw of the model; a promise holds the call back until it is settled. */
export type ScriptedOutcome = ScriptedAnswer | Error | Promise<ScriptedAnswer | Error>;

export interface ScriptedStep {
  /** what the request must be: anything else is a fatal error that says what differs */
  readonly expect?: {
    /** of the last message */
    readonly role?: Role;
    /** of the last message: its whole text, or a pattern in it */
    readonly content?: string | RegExp;
    /** how many the request has */
    readonly messages?: number;
  };
  /** what the model answers */
  readonly answer: ScriptedOutcome | ((request: ModelRequest) => ScriptedOutcome);
}

export interface ScriptedModelOptions {
  /** over that of the scripted model */
  readonly profile?: Partial<ModelProfile>;
}

export interface ScriptedModel extends Model {
  /** calls so far */
  readonly callCount: number;
  /** @throws Error where steps were not used */
  /** throws unless all steps were taken */
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
 * A model without a network. `steps`: answers the calls that are expected, in order, and fails on any other.
 * `decide`: answers each request by what it holds, so that a step that is run again gets the same answer.
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
      return await untilAborted(speak(outcome, request), request.signal);
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
  if (role !== undefined && last?.role !== role) return `last message of ${last?.role ?? 'nobody'}, expected ${role}`;
  if (content === undefined) return undefined;
  const text = last?.content ?? '';
  const isMet = typeof content === 'string' ? text === content : content.test(text);
  return isMet ? undefined : `last message is not ${String(content)}`;
}

/** Tells the text of an outcome as a provider streams it, then answers it whole. */
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

/** As a provider's client does: an aborted call ends at once, with the reason. */
async function untilAborted<T>(outcome: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const stop = (): void => aborted.reject(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([outcome, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
