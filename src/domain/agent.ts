import type { z } from 'zod';
import type { Model } from './model.ts';
import type { PolicyInput } from './policy.ts';
import type { TurnContext } from './turn-context.ts';

/** What a tool knows of the call that it runs. */
export interface ToolContext<Context extends TurnContext = TurnContext> {
  /** the tenant of the conversation */
  readonly tenant: string;
  /** id of the conversation */
  readonly conversation: string;
  /** id of the turn */
  readonly turn: string;
  /** what the caller gave with `enqueueTurn({ context })`; `{}` where it gave none. A copy of the tool's own */
  readonly context: Context;
  /** the same for every run of the same call, and for no other one: what a tool needs to take effect once */
  readonly idempotencyKey: string;
  /** aborts when the call has taken too long, or the turn is canceled, or another worker has it */
  readonly signal: AbortSignal;
}

/** A result that says whether it is an error. */
export interface ToolOutput {
  /** what the model reads */
  readonly content: string;
  /** the model is told that the call failed (default false) */
  readonly isError?: boolean;
}

/**
 * A tool that an agent may call. Without `run` it is answered from outside: the turn waits until its caller brings the
 * result.
 */
export interface Tool<Input = unknown, Context extends TurnContext = TurnContext> {
  /** how the model calls it: `[a-zA-Z0-9_-]{1,64}` */
  readonly name: string;
  /** what it does, for the model */
  readonly description: string;
  /** a schema of zod 4 for one object; arguments that do not fit are answered with an error */
  readonly input: z.ZodType<Input>;
  /** whether a call that may have taken effect before a crash is run again (default `safe`) */
  readonly retry?: 'safe' | 'never';
  /** a person decides before each call */
  readonly needsApproval?: boolean;
  /**
   * ms that a call waits for its result from outside, or for its approval (default 7 days). Past it the call is answered
   * `timeout` or `denied`, and the turn goes on. Only for tools without `run` or with `needsApproval`
   */
  readonly answerWithinMs?: number;
  /** ms that a run may take (default: the limit of a step, 600,000); past it the call is answered with a `timeout` error */
  readonly timeoutMs?: number;
  /**
   * Runs a call. A text is the result. `{content, isError?}` and nothing else is a result that may be an error. Any other object
   * is written as JSON; to send JSON of just that shape, write it yourself
   */
  run?(input: Input, context: ToolContext<Context>): Promise<string | object>;
}

/**
 * Writes a system prompt from the context of a turn. It runs once a turn, before its first step, and every step has its text.
 */
export type SystemFunction<Context extends TurnContext = TurnContext> = {
  // A method, so that an agent of a narrower context stands in a list of agents.
  write(context: Context): string | Promise<string>;
}['write'];

/** A model with its instructions, its tools and the policy of its conversations. */
export interface Agent<Name extends string = string, Context extends TurnContext = TurnContext> {
  /** by which turns name it: `[A-Za-z0-9_.-]{1,128}` */
  readonly name: Name;
  /** its instructions, or a function that writes them for each turn from what the caller gave */
  readonly system: string | SystemFunction<Context>;
  /** who answers */
  readonly model: Model;
  /** what it may call */
  readonly tools: readonly Tool<unknown, Context>[];
  /** when and how its conversations are compacted, over the workers' own policy */
  readonly policy: PolicyInput;
  /** model and tool calls of one turn (default 50); past it, it fails as `step_limit` */
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

/** Types a tool's `run` by its schema, and by the context that its turns have. */
export function defineTool<Input, Context extends TurnContext = TurnContext>(
  tool: Tool<Input, Context>,
): Tool<Input, Context> {
  return tool;
}

/** Keeps an agent's name and context as types, for `openClient<typeof agents>()`. */
export function defineAgent<const Name extends string, Context extends TurnContext = TurnContext>(
  agent: Agent<Name, Context>,
): Agent<Name, Context> {
  return agent;
}
