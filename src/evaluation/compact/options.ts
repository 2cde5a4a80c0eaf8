import { z } from 'zod';
import { fieldError } from '../../domain/errors.ts';
import type { ModelWindow } from '../../domain/limits.ts';
import type { Message } from '../../domain/message.ts';
import { parseInput } from '../../domain/parse.ts';
import type { PolicyInput } from '../../domain/policy.ts';
import { readPolicy } from '../../domain/policy-input.ts';
import type { OfflineWindow } from '../offline-agent.ts';
import { MESSAGE_FORMATS, type MessageFormat } from './kinds/kind.ts';
import { type CompactState, compactStateSchema } from './state.ts';

/** Messages to summarize, for a function of the caller. The messages are data, not instructions. */
export interface SummarizeRequest {
  /** Messages that the summary will replace, in turnfold's format, oldest first. */
  readonly messages: readonly Message[];
  /** Summaries of earlier parts of these messages, oldest first. Absent if there are none. */
  readonly earlier?: readonly string[];
  /** Message of the user before the range, which states the request. Absent if there is none. */
  readonly userRequest?: string;
  /** Maximum tokens of the summary. A longer text is cut. */
  readonly maxTokens: number;
  /** Aborts when the summary is not needed any more. */
  readonly signal: AbortSignal;
}

/** How messages are compacted. The same options should be given for each call of a conversation. */
export interface CompactionOptions {
  /**
   * Compaction policy: settings in camelCase or snake_case, as in a policy file. Default: the defaults of all settings.
   */
  readonly policy?: PolicyInput | Readonly<Record<string, unknown>>;
  /** Maximum tokens of a request: the window of the model without the room for its answer. */
  readonly window?: number;
  /** A model of the catalogue as `provider/model`, whose window, tokenizer and factors apply. */
  readonly model?: string;
  /** Limits of a model that the catalogue does not have. */
  readonly limits?: ModelWindow;
  /** System prompt, if it is not among the messages. Only its size counts. */
  readonly system?: string;
  /** Definitions of tools, in the form in which they are sent. Only the size of their JSON counts. */
  readonly tools?: unknown;
  /**
   * Writes a summary. Default: a summary by rules, which calls no model. If the function throws, rules write the
   * summary.
   */
  readonly summarize?: (request: SummarizeRequest) => Promise<string>;
}

/** Messages to compact, and how. */
export interface CompactMessagesOptions<Item> extends CompactionOptions {
  /** All messages of the conversation, or the messages that an earlier call returned, followed by newer messages. */
  readonly messages: readonly Item[];
  /** Format of the messages. Default: the format that the messages match. */
  readonly format?: MessageFormat;
  /**
   * The `state` that the previous call returned. With it, a compacted start stays unchanged until the next compaction.
   */
  readonly state?: CompactState;
  /** True: compacts now, whatever the size (default false). */
  readonly force?: boolean;
}

export interface CheckedCompaction {
  readonly messages: readonly unknown[];
  readonly format: MessageFormat | undefined;
  readonly policy: PolicyInput;
  readonly window: OfflineWindow;
  readonly system: string;
  readonly tools: string;
  readonly summarize: ((request: SummarizeRequest) => Promise<string>) | undefined;
  readonly state: CompactState | undefined;
  readonly force: boolean;
}

const limitsSchema = z.strictObject({
  windowTokens: z.number().int().min(1),
  outputCapTokens: z.number().int().min(0),
  upperBoundFactor: z.number().min(1),
  maxRequestBytes: z.number().int().min(1).optional(),
});

const optionsSchema = z.strictObject({
  messages: z.custom<readonly unknown[]>(Array.isArray, 'expected a list of messages'),
  format: z.enum(MESSAGE_FORMATS).optional(),
  policy: z.unknown().optional(),
  window: z.number().int().min(1).optional(),
  model: z.string().min(1).optional(),
  limits: limitsSchema.optional(),
  system: z.string().optional(),
  tools: z.unknown().optional(),
  summarize: z
    .custom<CheckedCompaction['summarize']>((value) => typeof value === 'function', 'expected a function')
    .optional(),
  state: compactStateSchema.optional(),
  force: z.boolean().optional(),
});

/** @throws invalid_input or invalid_policy with the field */
export function checkCompaction(given: unknown): CheckedCompaction {
  const {
    messages,
    format,
    policy,
    window,
    model,
    limits,
    system = '',
    tools,
    summarize,
    state,
    force = false,
  } = parseInput(optionsSchema, given);
  const { policy: settings, warnings } = readPolicy(policy, 'policy');
  const [unknown] = warnings;
  if (unknown !== undefined) throw fieldError('invalid_policy', 'policy', unknown);
  checkSummarizer(settings, summarize);
  checkLimit(settings, { window, model, limits, force });
  return {
    messages,
    format,
    policy: { ...settings, summarizer: 'structural' },
    window: {
      ...(window !== undefined && { usableTokens: window }),
      ...(model !== undefined && { model }),
      ...(limits !== undefined && { limits: limits as ModelWindow }),
    },
    system,
    tools: writeTools(tools),
    summarize,
    state,
    force,
  };
}

function checkSummarizer({ summarizer }: PolicyInput, summarize: CheckedCompaction['summarize']): void {
  if (summarize !== undefined || summarizer === undefined || summarizer === 'structural') return;
  const why = 'compactMessages calls no model. Pass `summarize`, or set `structural`';
  throw fieldError('invalid_policy', 'policy.summarizer', why);
}

interface GivenLimits {
  readonly window: unknown;
  readonly model: unknown;
  readonly limits: unknown;
  readonly force: boolean;
}

function checkLimit(policy: PolicyInput, { window, model, limits, force }: GivenLimits): void {
  const { tokenThreshold, turnThreshold, messageThreshold, onTurnEnd } = policy;
  const thresholds = [window, model, limits, tokenThreshold, turnThreshold, messageThreshold];
  if (force || onTurnEnd === true || thresholds.some((threshold) => threshold !== undefined)) return;
  const why = 'nothing would start a compaction. Pass `window`, `model` or `limits`, or set a threshold in the policy';
  throw fieldError('invalid_input', 'window', why);
}

/** @throws invalid_input if the tools cannot be written as JSON */
function writeTools(tools: unknown): string {
  if (tools === undefined) return '';
  try {
    return JSON.stringify(tools) ?? '';
  } catch (cause) {
    throw fieldError('invalid_input', 'tools', 'cannot be written as JSON', { cause });
  }
}
