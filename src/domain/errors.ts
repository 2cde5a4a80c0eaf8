import { brandErrors, hasBrand } from './thrown.ts';

/**
 * Every error that leaves the project has one of these codes, so that programs can react to it. The value names who has to
 * act: the caller, a worker, the agent of a turn, or the operator of the service.
 */
export const ERROR_CODES = {
  /** The input does not match its schema. `field` is the path of the wrong value. */
  invalid_input: 'caller',
  /** The policy cannot work, e.g. its budget is below its fixed parts. Found at load. `details` holds the sum. */
  invalid_policy: 'caller',
  /** A tool result answers a call that no earlier message made. */
  orphan_result: 'caller',
  /** A call id is used twice, or a call is answered twice. */
  duplicate_call: 'caller',
  /** A message is larger than 1 MiB. */
  message_too_large: 'caller',
  /** The turn id is known with another payload. Use a new id for a new turn. */
  turn_conflict: 'caller',
  /** The conversation belongs to another agent than the turn or append names. */
  agent_conflict: 'caller',
  /** The mailbox already holds `maxQueuedTurns` turns. Try again once some are settled. */
  mailbox_full: 'caller',
  /** A turn waits or runs, so the conversation accepts no append and no restore. */
  conversation_busy: 'caller',
  /** The log or the live version changed since the caller read it, or the turn does not wait for the answered call. */
  conflict: 'caller',
  /** The proposal was superseded or no longer fits the log. Read the current proposal first. */
  proposal_stale: 'caller',
  /** The turn has not failed, so it cannot be redriven. */
  turn_not_failed: 'caller',
  /** The compacted context would break a rule of its model's format, so nothing was changed. `details` holds the rules. */
  invalid_context: 'caller',
  /** The turn is not settled, so it cannot be rolled back. */
  turn_running: 'caller',
  /** The restored version would exceed the agent's hard limit. `details` holds the sum. */
  over_hard_limit: 'caller',
  /** The version is no longer kept, or one of its texts is lost. */
  version_gone: 'caller',
  /** A fork is copying the conversation. The conversation accepts nothing before the fork ends. */
  conversation_forking: 'caller',
  /** The fork stopped half-way: the copy is incomplete. Fork again, or erase the copy. */
  fork_abandoned: 'caller',
  /** The named conversation, turn, version or agent does not exist. */
  not_found: 'caller',
  /** The conversation was erased. */
  gone: 'caller',
  /** Another worker owns the turn or the pass, so the write was not made. */
  fenced: 'worker',
  /** The worker that claimed the turn has no agent of that name. */
  unknown_agent: 'turn',
  /** Three workers in a row claimed the turn and died or failed without an outcome. */
  poison: 'turn',
  /** The turn needs more steps than its agent allows. */
  step_limit: 'turn',
  /** One step was suspended more often than allowed. */
  retries_exhausted: 'turn',
  /** The context exceeds the window, and nothing more may be removed. `details` holds the arithmetic (I14). */
  budget_infeasible: 'turn',
  /** The request exceeds the window, and compaction is off. */
  context_overflow: 'turn',
  /** The model refused the request or broke its contract. A retry would not help. */
  model_failed: 'turn',
  /** The system prompt function threw, took too long or returned no text. */
  system_failed: 'turn',
  /** The turn took more time than its agent allows, waits included. */
  turn_timeout: 'turn',
  /** A step or a wait exceeded its time limit. */
  timeout: 'turn',
  /**
   * The write succeeded but did not reach the requested durability in time. `details` names both. Repeat the call with the
   * same id: it succeeds once the durability is reached.
   */
  accepted_unsure: 'service',
  /** Redis does not answer or accepts no writes now: its disk is full, or required replicas are missing. */
  redis_unavailable: 'service',
  /** Redis refuses our login, or its ACL forbids a needed command. Correct the address or the ACL. */
  redis_denied: 'service',
  /** Redis refuses writes because its memory limit is reached. */
  redis_full: 'service',
  /** A record in Redis cannot be read. `details` names its key and field. Repair or erase the record. */
  corrupt_record: 'service',
  /** The database has other settings or a newer schema, or the server may evict keys or is too old. */
  incompatible_store: 'service',
  /** A setting of the environment does not parse, or an option of `startWorkers`, `openClient` or an agent is invalid. */
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
