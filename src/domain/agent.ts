import type { z } from 'zod';
import type { AnswerSchema } from './final-answer.ts';
import type { Model } from './model.ts';
import type { ContentReference } from './parts.ts';
import type { PolicyInput } from './policy.ts';
import type { ToolProgress } from './tool-notes.ts';
import type { TurnContext } from './turn-context.ts';
import type { Accepts } from './turn-own.ts';

export interface ToolContext<Context extends TurnContext = TurnContext> {
  readonly tenant: string;
  readonly conversation: string;
  readonly turn: string;
  /** Private copy of `enqueueTurn({ context })`. `{}` if the caller passed none. */
  readonly context: Context;
  /** Unique to this call, and the same on every retry. With this key, a tool can take effect only once. */
  readonly idempotencyKey: string;
  /** Aborts when the call times out, the turn is canceled, or another worker takes over the turn. */
  readonly signal: AbortSignal;
  /**
   * Shows readers of the turn how far the call is. Each call replaces the progress before, and readers get about ten a
   * second at most. Progress is not kept, and it never slows down the tool.
   * @param progress text of at most 1,000 characters, or `{text, done, total}`
   * @throws invalid_input for another value
   */
  readonly progress: (progress: string | ToolProgress) => void;
  /**
   * Gives readers of the turn a value that no model reads. A later value of the same name and key replaces an earlier
   * value. The last values are kept in the log with the result of the call. A value is lost only with its worker.
   * @param name `[A-Za-z0-9_.-]{1,64}`. Protocols show it as `data-<name>`
   * @param data JSON, at most 16,384 characters, and 65,536 for all of at most 64 names and keys of one call
   * @param key text of at most 64 characters, to give several values of one name (none)
   * @throws invalid_input, message_too_large
   */
  readonly emit: (name: string, data: unknown, key?: string) => void;
}

/**
 * Text, image or file of a tool's result: `{type: 'text', text}`, `{type: 'image', url}`,
 * `{type: 'image', data, mediaType}`, `{type: 'image', reference, mediaType}`, and the same with `type: 'file'`. `data`
 * is base64 or a `Uint8Array`. Parts in the formats of Anthropic and OpenAI are accepted, too.
 */
export interface OutputPart {
  /** `text`, `image` or `file`, or a type of Anthropic or OpenAI. */
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface ToolOutput {
  readonly content: string;
  /**
   * Texts, images and files behind the content (none), together at most 1 MiB as JSON. A model that reads no images
   * gets a note in place of each.
   */
  readonly parts?: readonly OutputPart[];
  /** True: the model sees the result as an error (default false). */
  readonly isError?: boolean;
}

/** A tool that an agent's model may call. Without `run`, the turn waits until its caller delivers the result. */
export interface Tool<Input = unknown, Context extends TurnContext = TurnContext> {
  /** Must match `[a-zA-Z0-9_-]{1,64}`. */
  readonly name: string;
  /** Description that the model reads. */
  readonly description: string;
  /** Zod 4 object schema. Arguments that do not match it give the call an error result. */
  readonly input: z.ZodType<Input>;
  /** `safe` (default): a call that a crash interrupted runs again, although it may already have taken effect. */
  readonly retry?: 'safe' | 'never';
  /** True if a person must approve each call before it runs (default false). */
  readonly needsApproval?: boolean;
  /**
   * Ms that a call waits for an external result or an approval (default 7 days). Then it gets the result `timeout` or
   * `denied`, and the turn continues. Only for tools without `run` or with `needsApproval`.
   */
  readonly answerWithinMs?: number;
  /** Milliseconds that `run` may take (default 600,000). Then the call gets a `timeout` error result. */
  readonly timeoutMs?: number;
  /**
   * A returned string is the result. A returned object with only `content` and optionally `parts` and `isError` is a
   * result that can hold images or be an error. Any other object becomes JSON. To return JSON of exactly that shape,
   * serialize it yourself.
   */
  run?(input: Input, context: ToolContext<Context>): Promise<string | object>;
}

/** turnfold calls the function once per turn, before the first step, and uses the text for every step. */
export type SystemFunction<Context extends TurnContext = TurnContext> = {
  // A method, because method parameters are bivariant: one list may hold agents with different contexts.
  write(context: Context): string | Promise<string>;
}['write'];

export const ON_CANCEL_VALUES = ['keep', 'discard'] as const;
export type OnCancel = (typeof ON_CANCEL_VALUES)[number];

/** Person or tenant that a provider may hold responsible for a request. */
export type SafetyIdentifier =
  | 'off'
  | 'tenant'
  | 'conversation'
  | {
      /** Field of the turn's context data that names the person. */
      readonly context: string;
    };

export interface LoadContext {
  readonly tenant: string;
  readonly conversation: string;
  /** Aborts when the content is no longer needed, because the step has ended. */
  readonly signal: AbortSignal;
}

export interface Agent<Name extends string = string, Context extends TurnContext = TurnContext, Answer = unknown> {
  /** Must match `[A-Za-z0-9_.-]{1,128}`. */
  readonly name: Name;
  /** System prompt, or a function that writes it for each turn from the turn's context data. */
  readonly system: string | SystemFunction<Context>;
  readonly model: Model;
  readonly tools: readonly Tool<unknown, Context>[];
  /** Overrides the policy of the workers, setting by setting. */
  readonly policy: PolicyInput;
  /** Person or tenant whom a provider may hold responsible, sent as a hash (default `tenant`). */
  readonly safetyIdentifier?: SafetyIdentifier;
  /** Maximum model and tool calls in one turn (default 50). A turn that needs more fails with `step_limit`. */
  readonly maxSteps?: number;
  /** Ms from a turn's first claim to its end, waits included (default: no limit). Then it fails with `turn_timeout`. */
  readonly turnTimeoutMs?: number;
  /**
   * Treatment of text that a canceled turn has streamed. `keep` (default): the text enters the log as an assistant
   * message with the mark `stopped`. `discard`: the text is lost, also for its readers.
   */
  readonly onCancel?: OnCancel;
  /**
   * Maximum tokens of a tool result in the log (default 8,000). With `recall`, the full text is kept too, up to 1 MiB.
   */
  readonly toolResultMaxTokens?: number;
  /** Gives the model a tool `recall` (default off), which searches the log and reads clipped results in full. */
  readonly recall?: boolean;
  /**
   * Keeps the reasoning that the provider shows with the message in the log, up to 64 Ki characters (default on). It
   * counts no tokens, and no model reads it. `false`: only readers of the stream see it.
   */
  readonly keepReasoning?: boolean;
  /**
   * Returns an image or a file that messages name by `reference`: its bytes, or a URL that the provider can read.
   * Undefined if it is gone. Called for each model request. A reference comes from a caller, so check that it belongs
   * to the tenant. A thrown error suspends the turn for a retry.
   */
  loadContent?(content: ContentReference, context: LoadContext): Promise<Uint8Array | string | undefined>;
  /**
   * Zod 4 object schema of the final answers (default: any text). The provider enforces the schema, or else the system
   * prompt asks for it. After a mismatch, the worker asks the model once for a correction. A second mismatch fails the
   * turn with `answer_invalid`. The result of a turn has the value as `answer.value`.
   */
  readonly answer?: AnswerSchema<Answer>;
  /**
   * Parts of a turn that callers may bring: tools, instructions, a form of the answer, images and files (all). A turn
   * that brings another part fails with `invalid_input` before any model call.
   */
  readonly accepts?: Accepts;
}

/** Declares a tool. The arguments of `run` are typed by the tool's schema, and its context by the agent's turns. */
export function defineTool<Input, Context extends TurnContext = TurnContext>(
  tool: Tool<Input, Context>,
): Tool<Input, Context> {
  return tool;
}

/** Declares an agent. Its name and context stay in its type, so that `openClient<typeof agents>()` can check them. */
export function defineAgent<const Name extends string, Context extends TurnContext = TurnContext, Answer = unknown>(
  agent: Agent<Name, Context, Answer>,
): Agent<Name, Context, Answer> {
  return agent;
}
