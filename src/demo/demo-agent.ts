import type { Agent, Tool } from '../domain/agent.ts';
import type { Message } from '../domain/message.ts';
import type { Model, ModelProfile } from '../domain/model.ts';
import type { PolicyInput } from '../domain/policy.ts';
import { scriptedModel } from '../models/scripted.ts';
import { decideFrom, type ScriptedTurn } from './script.ts';

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
