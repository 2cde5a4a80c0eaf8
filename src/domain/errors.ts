import { brandErrors, hasBrand } from './thrown.ts';

/**
 * All error codes of the project. No other error leaves its borders. The code tells programs what happened, the message
 * tells people, and `field` names the input or setting at fault.
 */
export const ERROR_CODES = {
  /** Input that does not match its schema. `field` is its path. */
  invalid_input: 'caller',
  /** A policy that cannot work, found when it is loaded. `details` holds the sum. */
  invalid_policy: 'caller',
  /** A tool result that answers no earlier call. */
  orphan_result: 'caller',
  /** A call id that is used twice, or a call that is answered twice. */
  duplicate_call: 'caller',
  /** A message above the limit of 1 MiB. */
  message_too_large: 'caller',
  /** A known turn id with another payload. */
  turn_conflict: 'caller',
  /** A turn or an append for an agent that does not own the conversation. */
  agent_conflict: 'caller',
  /** A mailbox that already holds `maxQueuedTurns` turns. */
  mailbox_full: 'caller',
  /** An append while turns wait or run, or a restore during a turn. */
  conversation_busy: 'caller',
  /** An append or a commit for another head or version, or an answer to a call that the turn does not wait for. */
  conflict: 'caller',
  /** A decision on a proposal that is superseded or no longer fits. Read the current proposal first. */
  proposal_stale: 'caller',
  /** Only a failed turn can be redriven. */
  turn_not_failed: 'caller',
  /**
   * A compacted context that would break a rule of its model's format. `details` holds the rules. Nothing was changed.
   */
  invalid_context: 'caller',
  /** A rollback needs a settled turn. */
  turn_running: 'caller',
  /** A restore that would exceed the agent's hard limit. `details` holds the sum. */
  over_hard_limit: 'caller',
  /** A version that is no longer kept, or that lacks one of its texts. */
  version_gone: 'caller',
  /** A conversation that is being copied and accepts nothing before the fork ends. */
  conversation_forking: 'caller',
  /** A fork that stopped before its end. Fork again, or erase the conversation. */
  fork_abandoned: 'caller',
  /** A conversation, turn, version or agent that does not exist. */
  not_found: 'caller',
  /** A conversation that was erased. */
  gone: 'caller',
  /** The worker lost the turn or the pass, so its write was not made. */
  fenced: 'worker',
  /** A turn whose agent is not registered at the worker that claimed it. */
  unknown_agent: 'turn',
  /** Three claims in a row that ended without an outcome. */
  poison: 'turn',
  /** A turn that needs more steps than its agent allows. */
  step_limit: 'turn',
  /** A step that was suspended more often than allowed. */
  retries_exhausted: 'turn',
  /** A context above the window from which nothing more may be removed. `details` holds the arithmetic (I14). */
  budget_infeasible: 'turn',
  /** A request above the window while compaction is off. */
  context_overflow: 'turn',
  /** A model that refused the request or broke its contract. A retry would not help. */
  model_failed: 'turn',
  /** A system prompt function that threw, took too long or returned no text. */
  system_failed: 'turn',
  /** A turn that took more time than its agent allows, waits included. */
  turn_timeout: 'turn',
  /** A step or a wait that exceeded its time limit. */
  timeout: 'turn',
  /**
   * A write that succeeded without reaching the requested durability in time. `details` names both. Repeating the call
   * with the same id is safe, and succeeds once the durability is reached.
   */
  accepted_unsure: 'service',
  /** A Redis that does not answer or accepts no writes now: its disk is full, or required replicas are missing. */
  redis_unavailable: 'service',
  /**
   * A Redis that refuses our login, or whose ACL forbids a needed command. Waiting does not help: correct the address
   * or the ACL.
   */
  redis_denied: 'service',
  /** A Redis that refuses writes because its memory limit is reached. */
  redis_full: 'service',
  /** A record in Redis that cannot be read. `details` names its key and field. Repair or erase it. */
  corrupt_record: 'service',
  /** A database with other settings or a newer schema, or a server that may evict keys or is too old. */
  incompatible_store: 'service',
  /**
   * A setting of the environment that does not parse, or an invalid option of `startWorkers`, `openClient` or an agent.
   */
  invalid_config: 'service',
} as const;

export type ErrorCode = keyof typeof ERROR_CODES;

export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === 'string' && Object.hasOwn(ERROR_CODES, value);
}

export interface ErrorContext {
  /** Path of the input or setting at fault, e.g. `messages[3].toolCallId`. */
  readonly field?: string;
  /** Figures and ids that explain the error, without contents or secrets. */
  readonly details?: Readonly<Record<string, unknown>> | undefined;
  readonly cause?: unknown;
}

const BRAND = Symbol.for('turnfold.TurnfoldError');

export class TurnfoldError extends Error {
  static {
    brandErrors(this, BRAND);
  }

  /** Code to react to. */
  readonly code: ErrorCode;
  /** Path of the input or setting at fault. */
  readonly field: string | undefined;
  /** Figures and ids that explain the error, without contents or secrets. */
  readonly details: Readonly<Record<string, unknown>> | undefined;

  constructor(code: ErrorCode, message: string, context: ErrorContext = {}) {
    super(message, context.cause === undefined ? undefined : { cause: context.cause });
    this.name = 'TurnfoldError';
    this.code = code;
    this.field = context.field;
    this.details = context.details;
  }

  /** The message without the leading name of its field. */
  get reason(): string {
    const prefix = `${this.field}: `;
    return this.message.startsWith(prefix) ? this.message.slice(prefix.length) : this.message;
  }

  /** The form that may be sent over a wire or printed with `--json`. */
  toJSON(): { code: ErrorCode; message: string; field?: string; details?: Readonly<Record<string, unknown>> } {
    return {
      code: this.code,
      message: this.message,
      ...(this.field === undefined ? {} : { field: this.field }),
      ...(this.details === undefined ? {} : { details: this.details }),
    };
  }
}

/** Error about one input or setting. Its message begins with the name of the field. */
export function fieldError(
  code: ErrorCode,
  field: string,
  reason: string,
  context: Omit<ErrorContext, 'field'> = {},
): TurnfoldError {
  return new TurnfoldError(code, `${field}: ${reason}`, { ...context, field });
}

/** Recognizes errors of every copy of this package, unlike `instanceof`. */
export function isTurnfoldError(error: unknown, code?: ErrorCode): error is TurnfoldError {
  return hasBrand(error, BRAND) && (code === undefined || (error as TurnfoldError).code === code);
}

/**
 * Code of an error from a Redis that can be read but takes no writes now, so nothing was written. Undefined for other errors.
 * The Redis adapter sets the detail `takesNoWrites`.
 */
export function findWriteRefusal(error: unknown): 'redis_full' | 'redis_unavailable' | undefined {
  if (isTurnfoldError(error, 'redis_full')) return 'redis_full';
  const takesNoWrites = isTurnfoldError(error, 'redis_unavailable') && error.details?.['takesNoWrites'] === true;
  return takesNoWrites ? 'redis_unavailable' : undefined;
}
