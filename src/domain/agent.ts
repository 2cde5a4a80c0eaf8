import type { z } from 'zod';
import type { Model } from './model.ts';
import type { PolicyInput } from './policy.ts';
import type { TurnContext } from './turn-context.ts';

/** The call that a tool runs, as the tool sees it. */
export interface ToolContext<Context extends TurnContext = TurnContext> {
  readonly tenant: string;
  readonly conversation: string;
  readonly turn: string;
  /** A private copy of the caller's `enqueueTurn({ context })`. `{}` if the caller gave none. */
  readonly context: Context;
  /** Key that every run of the same call shares, and no other call has. A tool uses it to take effect once. */
  readonly idempotencyKey: string;
  /** Signal that aborts on a timeout of the call, on cancelation of the turn, or when another worker owns the turn. */
  readonly signal: AbortSignal;
}

/** A tool result with an explicit error mark. */
export interface ToolOutput {
  /** Text that the model reads. */
  readonly content: string;
  /** Error mark: the model learns that the call failed (default false). */
  readonly isError?: boolean;
}

/**
 * A tool that an agent may call. A tool without `run` is answered from outside. Its turn waits until the caller of the
 * turn delivers the result.
 */
export interface Tool<Input = unknown, Context extends TurnContext = TurnContext> {
  /** Name by which the model calls the tool: `[a-zA-Z0-9_-]{1,64}`. */
  readonly name: string;
  /** Purpose and use of the tool, for the model. */
  readonly description: string;
  /** Schema of the arguments: a zod 4 schema for one object. Arguments that do not fit get an error result. */
  readonly input: z.ZodType<Input>;
  /** Permission to run a call again after a crash, although it may have taken effect (default `safe`). */
  readonly retry?: 'safe' | 'never';
  /** Need for a person's approval before each call (default false). */
  readonly needsApproval?: boolean;
  /**
   * Milliseconds that a call waits for its result from outside, or for its approval (default 7 days). After that the
   * call is answered `timeout` or `denied`, and the turn continues. Only for tools without `run` or with
   * `needsApproval`.
   */
  readonly answerWithinMs?: number;
  /**
   * Milliseconds that a run may take (default 600,000, the limit of a step). A longer run is answered with a `timeout`
   * error.
   */
  readonly timeoutMs?: number;
  /**
   * Runs a call. A string is the result. An object with `content`, optionally `isError`, and no other key is a result
   * that may be an error. Any other object is written as JSON. To return JSON of exactly that form, serialize it
   * yourself.
   */
  run?(input: Input, context: ToolContext<Context>): Promise<string | object>;
}

/**
 * Writes a system prompt from the context of a turn. It runs once per turn, before the first step. Every step uses its
 * text.
 */
export type SystemFunction<Context extends TurnContext = TurnContext> = {
  // Declared as a method, so that an agent with a narrower context fits into a list of agents.
  write(context: Context): string | Promise<string>;
}['write'];

/** A model with its instructions, its tools and the policy of its conversations. */
export interface Agent<Name extends string = string, Context extends TurnContext = TurnContext> {
  /** Name by which turns refer to the agent: `[A-Za-z0-9_.-]{1,128}`. */
  readonly name: Name;
  /** Instructions of the agent, or a function that writes them for each turn from the turn's context. */
  readonly system: string | SystemFunction<Context>;
  readonly model: Model;
  readonly tools: readonly Tool<unknown, Context>[];
  /** Compaction policy of its conversations. Its settings override those of the workers' own policy. */
  readonly policy: PolicyInput;
  /** Model and tool calls that one turn may make (default 50). A turn that needs more fails with `step_limit`. */
  readonly maxSteps?: number;
  /**
   * Milliseconds that a turn may take from its first claim, waits included (default: no limit). A longer turn fails
   * with `turn_timeout`.
   */
  readonly turnTimeoutMs?: number;
  /**
   * Tokens above which a tool result is clipped in the log (default 8,000). With `recall`, the full text is kept, up to
   * 1 MiB.
   */
  readonly toolResultMaxTokens?: number;
  /**
   * Access to the tool `recall` (default off). It searches and reads the log of the conversation, archived messages
   * first. It also reads the full text of clipped tool results.
   */
  readonly recall?: boolean;
}

/** Types `run` of a tool by its schema and by the context of its turns. */
export function defineTool<Input, Context extends TurnContext = TurnContext>(
  tool: Tool<Input, Context>,
): Tool<Input, Context> {
  return tool;
}

/** Keeps the name and the context of an agent as types, for `openClient<typeof agents>()`. */
export function defineAgent<const Name extends string, Context extends TurnContext = TurnContext>(
  agent: Agent<Name, Context>,
): Agent<Name, Context> {
  return agent;
}
