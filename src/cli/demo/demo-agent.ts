import type { Agent, Tool } from '../../domain/agent.ts';
import type { Message } from '../../domain/message.ts';
import type { Model, ModelAnswer, ModelProfile, ModelRequest } from '../../domain/model.ts';
import type { PolicyInput } from '../../domain/policy.ts';
import { scriptedModel } from '../../providers/scripted.ts';

export interface DemoScript {
  readonly system: string;
  readonly tools: readonly Tool[];
  readonly turns: readonly ScriptedTurn[];
  /** Messages that are appended before the first turn. */
  readonly opening: readonly Message[];
  /** The model's window minus the reserved output. */
  readonly usable: number;
}

/** Prefix of the names of demo agents. No other agent may have a name with this prefix. */
export const DEMO_PREFIX = 'turnfold-demo-';

const RESERVE_TOKENS = 1_000;
/** Fraction of the usable window at which a compaction starts. */
export const THRESHOLD_SHARE = 0.65;
/** Fraction of the usable window to which a compaction reduces the context. */
export const TARGET_SHARE = 0.4;
const RESULT_SHARE = 0.15;
const MAX_RESULT_TOKENS = 8_000;
/**
 * Maximum steps of a demo turn. A recorded turn may have hundreds of calls, far more than the default of `maxSteps`.
 */
const MAX_STEPS = 2_000;

export interface DemoAgentOptions {
  readonly isCompacted: boolean;
  /** Creates a model to use instead of the script, with a small window, so that compaction happens. */
  readonly makeModel?: ((window: Pick<ModelProfile, 'windowTokens' | 'outputCapTokens'>) => Model) | undefined;
}

/** Creates an agent whose model follows a script, so no API key is needed. Everything else is as in production. */
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

/** Maximum tokens of a tool result. Longer results are clipped. */
export function maxResultTokens(usable: number): number {
  return Math.min(MAX_RESULT_TOKENS, Math.floor(usable * RESULT_SHARE));
}

export interface ScriptedCall {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>> | string;
}

export interface ScriptedTurn {
  readonly ask: string;
  readonly rounds: readonly (readonly ScriptedCall[])[];
  /** Texts that accompany the tool calls, one for each round. */
  readonly remarks?: readonly string[];
  readonly answer: (results: readonly string[]) => string;
}

/** Names a turn, e.g. `turn-07` for index 6. */
export function turnIdOf(index: number): string {
  return `turn-${String(index + 1).padStart(2, '0')}`;
}

/**
 * Answers model requests from the script. Turn and step are in the idempotency key (`…/turn/accepted/model-n`), so a
 * retried step gets the same answer.
 */
export function decideFrom(turns: readonly ScriptedTurn[]): (request: ModelRequest) => ModelAnswer {
  return ({ idempotencyKey, messages }) => {
    const found = /\/turn-(\d+)\/\d+\/model-(\d+)$/.exec(idempotencyKey);
    const turn = turns[Number(found?.[1]) - 1];
    const step = Number(found?.[2]);
    if (turn === undefined)
      throw new Error(`the script of the demo has no turn for the idempotency key ${idempotencyKey}`);
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

function lastResults(messages: ModelRequest['messages']): string[] {
  const start = messages.findLastIndex((message) => message.role === 'user');
  return messages.slice(start + 1).flatMap((message) => (message.role === 'tool' ? [message.content] : []));
}
