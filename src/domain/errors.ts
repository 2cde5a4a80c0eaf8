import { brandErrors, hasBrand } from './thrown.ts';

/** Codes of all errors that leave turnfold, each with who must act. */
export const ERROR_CODES = {
  /** `field` is the path of the wrong value. */
  invalid_input: 'caller',
  /** The policy can never work, e.g. its budget is smaller than the system prompt. `details` holds the calculation. */
  invalid_policy: 'caller',
  /** A tool result names a call that no earlier message made. */
  orphan_result: 'caller',
  /** Two calls have the same id, or one call has two results. */
  duplicate_call: 'caller',
  message_too_large: 'caller',
  /** This turn id was accepted before with another payload. Use a new id for a new turn. */
  turn_conflict: 'caller',
  /** This operation id was used before for another payload. Use a new id for a new call. */
  operation_conflict: 'caller',
  agent_conflict: 'caller',
  /** `maxQueuedTurns` turns are queued, running or waiting. Try again when some have settled. */
  mailbox_full: 'caller',
  /** A turn runs or waits, so an append, a restore or a turn with `onBusy: reject` is not possible now. */
  conversation_busy: 'caller',
  /** The call does not fit the present state. The message names the cause. */
  conflict: 'caller',
  /** The proposal was replaced or no longer fits the log. Read the current proposal first. */
  proposal_stale: 'caller',
  turn_not_failed: 'caller',
  /** The compacted context would break the rules in `details` of the provider's message format. Nothing was changed. */
  invalid_context: 'caller',
  turn_running: 'caller',
  /** The restored version would exceed the limit of the agent's model. `details` holds the calculation. */
  over_hard_limit: 'caller',
  /** Retention deleted the version, or one of its texts is lost. */
  version_gone: 'caller',
  /** A fork is copying messages into this conversation, which accepts nothing else until the fork ends. */
  conversation_forking: 'caller',
  /** A fork stopped before its copy was complete. Run the fork again, or erase the copy. */
  fork_abandoned: 'caller',
  not_found: 'caller',
  gone: 'caller',
  /** The key is refused, or allows neither this call nor this tenant. */
  access_denied: 'caller',
  /** Another worker now owns the turn or pass, so this worker's write was not made. */
  fenced: 'worker',
  unknown_agent: 'turn',
  /** At least three claims of the turn ended without an outcome. In the last claim, the worker ran nothing else. */
  poison: 'turn',
  step_limit: 'turn',
  token_limit: 'turn',
  /** One step was suspended more often than the limit. */
  retries_exhausted: 'turn',
  /** The context exceeds the model's window, and nothing more can be removed. `details` holds the calculation (I14). */
  budget_infeasible: 'turn',
  context_overflow: 'turn',
  /** The model refused the request or returned an invalid answer. A retry would not help. */
  model_failed: 'turn',
  /** The final answer does not match the agent's schema, also after one correction. `details` names the fields. */
  answer_invalid: 'turn',
  /** The agent's function for the system prompt threw an error, timed out or returned no text. */
  system_failed: 'turn',
  /** Longer than the agent's `turnTimeoutMs`, waits included, or than the turn's `deadlineMs`. */
  turn_timeout: 'turn',
  timeout: 'turn',
  /** A defect of turnfold. The worker reports the error in its log. Redrive the turn after an upgrade. */
  internal_error: 'turn',
  /**
   * A failover may lose the write. Repeat the call with the same id. `details` has the required and reached durability.
   */
  accepted_unsure: 'service',
  /** Redis does not answer, or cannot accept writes now: its disk is full, or replicas are missing. */
  redis_unavailable: 'service',
  /** The HTTP server fails or does not answer. Repeat the call with the id in `details`: a write may have succeeded. */
  server_unavailable: 'service',
  /** Redis refuses the login, or its ACL forbids a command that turnfold needs. */
  redis_denied: 'service',
  /**
   * Redis holds another, an older or an empty database. Reported to `onError`, never thrown, because calls continue.
   */
  database_lost: 'service',
  redis_full: 'service',
  /** A record in Redis cannot be read. `details` names its key and field. Repair or erase the record. */
  corrupt_record: 'service',
  /** The database has other settings or a newer schema, or the server is too old or may evict keys. */
  incompatible_store: 'service',
  invalid_config: 'service',
} as const;

export type ErrorCode = keyof typeof ERROR_CODES;

export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === 'string' && Object.hasOwn(ERROR_CODES, value);
}

export interface ErrorContext {
  /** E.g. `messages[3].toolCallId`. */
  readonly field?: string;
  /** Figures and ids, without contents or secrets. */
  readonly details?: Readonly<Record<string, unknown>> | undefined;
  readonly cause?: unknown;
}

const BRAND = Symbol.for('turnfold.TurnfoldError');

export class TurnfoldError extends Error {
  static {
    brandErrors(this, BRAND);
  }

  readonly code: ErrorCode;
  /** Path of the wrong value in the input or the settings, e.g. `messages[3].toolCallId`. */
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

  /** The message without the field name at its start. */
  get reason(): string {
    const prefix = `${this.field}: `;
    return this.message.startsWith(prefix) ? this.message.slice(prefix.length) : this.message;
  }

  /** The error as a JSON object, for HTTP responses and for `--json`. */
  toJSON(): { code: ErrorCode; message: string; field?: string; details?: Readonly<Record<string, unknown>> } {
    return {
      code: this.code,
      message: this.message,
      ...(this.field === undefined ? {} : { field: this.field }),
      ...(this.details === undefined ? {} : { details: this.details }),
    };
  }
}

export function fieldError(
  code: ErrorCode,
  field: string,
  reason: string,
  context: Omit<ErrorContext, 'field'> = {},
): TurnfoldError {
  return new TurnfoldError(code, `${field}: ${reason}`, { ...context, field });
}

/** Unlike `instanceof`, works when two copies of the package are loaded. */
export function isTurnfoldError(error: unknown, code?: ErrorCode): error is TurnfoldError {
  return hasBrand(error, BRAND) && (code === undefined || (error as TurnfoldError).code === code);
}

/** Code of an error with which Redis refuses writes while it answers reads. Nothing was written. */
export function findWriteRefusal(error: unknown): 'redis_full' | 'redis_unavailable' | undefined {
  if (isTurnfoldError(error, 'redis_full')) return 'redis_full';
  const takesNoWrites = isTurnfoldError(error, 'redis_unavailable') && error.details?.['takesNoWrites'] === true;
  return takesNoWrites ? 'redis_unavailable' : undefined;
}

/** True for an error of Redis or the server, not of the interrupted work. A retry may succeed. */
export function isServiceError(error: unknown): error is TurnfoldError {
  return isTurnfoldError(error) && ERROR_CODES[error.code] === 'service';
}

export function failureCode(error: unknown): ErrorCode {
  return isTurnfoldError(error) ? error.code : 'internal_error';
}
