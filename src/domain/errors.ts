import { brandErrors, hasBrand } from './error-brand.ts';

/**
 * Every failure that a caller or an operator can meet, by code. The code says what happens next; the message says it to a
 * person; `field` names the input or setting at fault. Nothing outside this list leaves the project's borders.
 */
export const ERROR_CODES = {
  /** Input that does not fit its schema. `field` is its path. */
  invalid_input: 'caller',
  /** A policy that cannot work, found when it is loaded. `details` holds the sum. */
  invalid_policy: 'caller',
  /** A tool result that answers no call before it. */
  orphan_result: 'caller',
  /** A call id that stands twice, or a call answered twice. */
  duplicate_call: 'caller',
  /** A message larger than the limit (1 MiB). */
  message_too_large: 'caller',
  /** The same turn id with another payload. */
  turn_conflict: 'caller',
  /** A turn or an append for another agent than the conversation's. */
  agent_conflict: 'caller',
  /** More turns wait than `maxQueuedTurns`. */
  mailbox_full: 'caller',
  /** An append while turns wait or run; a restore over a turn that is under way. */
  conversation_busy: 'caller',
  /** An append or a commit that expected another head or version; an answer to a call that the turn does not wait for. */
  conflict: 'caller',
  /** An approval or rejection of what is no longer proposed, or no longer fits. Look at what is proposed now. */
  proposal_stale: 'caller',
  /** A re-drive of a turn that has not failed. */
  turn_not_failed: 'caller',
  /** Compacted, the conversation would break a rule of its model's format. `details` holds the rules. Nothing was done. */
  invalid_context: 'caller',
  /** A rollback of a turn that is not settled. */
  turn_running: 'caller',
  /** What would be restored is over the agent's hard limit. `details` holds the sum. */
  over_hard_limit: 'caller',
  /** The version is no longer kept, or a text that it needs. */
  version_gone: 'caller',
  /** The conversation is being copied: it takes nothing before the fork ends. */
  conversation_forking: 'caller',
  /** Whoever copied the conversation has stopped before the end. Fork again, or erase it. */
  fork_abandoned: 'caller',
  /** No such conversation, turn, version or agent. */
  not_found: 'caller',
  /** The conversation was erased. */
  gone: 'caller',
  /** A worker that does not hold the epoch or pass it writes for. */
  fenced: 'worker',
  /** The turn's agent is not registered at the worker that claimed it. */
  unknown_agent: 'turn',
  /** Three claims in a row ended without an outcome. */
  poison: 'turn',
  /** More steps than a turn may take. */
  step_limit: 'turn',
  /** One step was suspended more often than allowed. */
  retries_exhausted: 'turn',
  /** Still over the window and nothing left that may be removed. `details` holds the arithmetic. */
  budget_infeasible: 'turn',
  /** Compaction is off and the request exceeds the window. */
  context_overflow: 'turn',
  /** The model refused or broke its contract; a retry would not help. */
  model_failed: 'turn',
  /** The function that writes the agent's system prompt threw, took too long or answered no text. */
  system_failed: 'turn',
  /** More time than a turn of its agent may take, waits included. */
  turn_timeout: 'turn',
  /** A time limit of a step or a wait passed. */
  timeout: 'turn',
  /**
   * What was asked for is written, and the durability that was asked for not reached in time. `details` names it; the same
   * call again, under that id, is safe, and answers once it is reached.
   */
  accepted_unsure: 'service',
  /** Redis does not answer, or takes no writes now: its disk is full, or replicas that it asks for are missing. */
  redis_unavailable: 'service',
  /** Redis refuses our login, or its ACL something that turnfold does. Waiting does not help: correct the address or the ACL. */
  redis_denied: 'service',
  /** Redis refuses writes: its memory limit is reached. */
  redis_full: 'service',
  /** A record in Redis that cannot be read. `details` names its key and field. Repair or erase it. */
  corrupt_record: 'service',
  /** The database was written with other settings or a newer schema, or its server may throw keys away or is too old. */
  incompatible_store: 'service',
  /** A setting of the environment that does not parse; an option of `startWorkers`, of `openClient` or of an agent. */
  invalid_config: 'service',
} as const;

export type ErrorCode = keyof typeof ERROR_CODES;

export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === 'string' && Object.hasOwn(ERROR_CODES, value);
}

export interface ErrorContext {
  /** path of the input or setting at fault, e.g. `messages[3].toolCallId` */
  readonly field?: string;
  /** figures and ids that explain it; never contents or secrets */
  readonly details?: Readonly<Record<string, unknown>>;
  /** the error behind it */
  readonly cause?: unknown;
}

const BRAND = Symbol.for('turnfold.TurnfoldError');

export class TurnfoldError extends Error {
  static {
    brandErrors(this, BRAND);
  }

  /** what to react to */
  readonly code: ErrorCode;
  /** path of the input or setting at fault */
  readonly field: string | undefined;
  /** figures and ids that explain it; never contents or secrets */
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

  /** What may be sent over a wire or printed with `--json`. */
  toJSON(): { code: ErrorCode; message: string; field?: string; details?: Readonly<Record<string, unknown>> } {
    return {
      code: this.code,
      message: this.message,
      ...(this.field === undefined ? {} : { field: this.field }),
      ...(this.details === undefined ? {} : { details: this.details }),
    };
  }
}

/** Of whichever copy of this package: never by `instanceof`. */
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
