import type { Agent, Tool } from '../domain/agent.ts';
import type { Message } from '../domain/message.ts';
import type { Model, ModelAnswer, ModelProfile, ModelRequest } from '../domain/model.ts';
import type { PolicyInput } from '../domain/policy.ts';
import { scriptedModel } from '../models/scripted.ts';

export interface DemoScript {
  readonly system: string;
  readonly tools: readonly Tool[];
  readonly turns: readonly ScriptedTurn[];
  /** messages that are there before the first turn */
  readonly opening: readonly Message[];
  /** window − reserved output, in tokens */
  readonly usable: number;
}

/** Of the names of the demo's agents, and of no agent of anybody else's. */
export const DEMO_PREFIX = 'turnfold-demo-';

const RESERVE_TOKENS = 1_000;
/** of the usable window: what a pass is wanted from */
export const THRESHOLD_SHARE = 0.65;
/** of the usable window: what a pass brings the context down to */
export const TARGET_SHARE = 0.4;
const RESULT_SHARE = 0.15;
const MAX_RESULT_TOKENS = 8_000;
/** recorded turns have hundreds of calls */
const MAX_STEPS = 2_000;

export interface DemoAgentOptions {
  readonly isCompacted: boolean;
  /** a provider's model in place of the script, with a window so small that it has to be compacted */
  readonly makeModel?: ((window: Pick<ModelProfile, 'windowTokens' | 'outputCapTokens'>) => Model) | undefined;
}

/** The agent of the demo. Its model follows a script, so that no key is needed; everything else is as in production. */
export function createDemoAgent(name: string, script: DemoScript, { isCompacted, makeModel }: DemoAgentOptions): Agent {
  const { usable } = script;
  const policy: PolicyInput = {
    enabled: isCompacted,
    tokenThreshold: Math.floor(usable * THRESHOLD_SHARE),
    maxTokens: Math.floor(usable * TARGET_SHARE),
  };
  const window = { windowTokens: usable + RESERVE_TOKENS, outputCapTokens: RESERVE_TOKENS };
  return {
    name,
    system: script.system,
    tools: script.tools,
    policy,
    maxSteps: MAX_STEPS,
    toolResultMaxTokens: maxResultTokens(usable),
    model:
      makeModel?.(window) ??
      scriptedModel({
        decide: decideFrom(script.turns),
        profile: { id: 'scripted', encoding: 'o200k_base', upperBoundFactor: 1, ...window },
      }),
  };
}

/** A larger result is clipped before it is appended. */
export function maxResultTokens(usable: number): number {
  return Math.min(MAX_RESULT_TOKENS, Math.floor(usable * RESULT_SHARE));
}

/** A call that the demo's model decides on; the arguments are JSON-encoded when it is made. */
export interface ScriptedCall {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>> | string;
}

/** One turn: what is asked, the rounds of calls that answer it, and the closing text, made from what the tools really said. */
export interface ScriptedTurn {
  readonly ask: string;
  readonly rounds: readonly (readonly ScriptedCall[])[];
  /** said beside the calls of a round, where there is something to say */
  readonly remarks?: readonly string[];
  readonly answer: (results: readonly string[]) => string;
}

/** Ids of the demo's turns say which one they are: `turn-07`. */
export function turnIdOf(index: number): string {
  return `turn-${String(index + 1).padStart(2, '0')}`;
}

/**
 * Decides as scripted. Which turn and step a request is for stands in its idempotency key, `…/turn/accepted/model-n`: so
 * a retried step gets the same answer, and the size of the context does not matter.
 */
export function decideFrom(turns: readonly ScriptedTurn[]): (request: ModelRequest) => ModelAnswer {
  return ({ idempotencyKey, messages }) => {
    const found = /\/turn-(\d+)\/\d+\/model-(\d+)$/.exec(idempotencyKey);
    const turn = turns[Number(found?.[1]) - 1];
    const step = Number(found?.[2]);
    if (turn === undefined) throw new Error(`no scripted turn for ${idempotencyKey}`);
    const round = turn.rounds[step - 1];
    if (round === undefined) return { content: turn.answer(lastResults(messages)), toolCalls: [] };
    return {
      content: turn.remarks?.[step - 1] ?? '',
      toolCalls: round.map((call, index) => ({
        id: `call_${step}_${index}`,
        name: call.name,
        arguments: typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments),
      })),
    };
  };
}

/** Results since the last user message, oldest first. */
function lastResults(messages: ModelRequest['messages']): string[] {
  const start = messages.findLastIndex((message) => message.role === 'user');
  return messages.slice(start + 1).flatMap((message) => (message.role === 'tool' ? [message.content] : []));
}
