import type { z } from 'zod';
import type { Model } from './model.ts';
import type { PolicyInput } from './policy.ts';

export interface ToolContext {
  readonly tenant: string;
  readonly conversation: string;
  readonly turn: string;
  /** the same for every run of the same call, and for no other one: what a tool needs to take effect once */
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
}

export interface ToolOutput {
  readonly content: string;
  readonly isError?: boolean;
}

/**
 * A tool that an agent may call. Without `run` it is answered from outside: the turn waits until its caller brings the
 * result.
 */
export interface Tool<Input = unknown> {
  readonly name: string;
  readonly description: string;
  readonly input: z.ZodType<Input>;
  /** whether a call that may have taken effect before a crash is run again (default `safe`) */
  readonly retry?: 'safe' | 'never';
  /** a person decides before each call */
  readonly needsApproval?: boolean;
  run?(input: Input, context: ToolContext): Promise<string | ToolOutput>;
}

export interface Agent {
  readonly name: string;
  readonly system: string;
  readonly model: Model;
  readonly tools: readonly Tool[];
  readonly policy: PolicyInput;
  readonly maxSteps?: number;
  /** ms that a turn may take from its first claim on, waits included (default: no limit); past it, it fails as `turn_timeout` */
  readonly turnTimeoutMs?: number;
  /** a larger result is clipped before it enters the log (default 8,000); with `recall` the whole is kept, up to 1 MiB */
  readonly toolResultMaxTokens?: number;
  /**
   * gives it the tool `recall`, which searches and reads the log of its conversation, what is archived first, and reads clipped
   * tool results whole (default off)
   */
  readonly recall?: boolean;
}

/** Types a tool's `run` by its schema. */
export function defineTool<Input>(tool: Tool<Input>): Tool<Input> {
  return tool;
}
