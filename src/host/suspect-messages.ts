import type { ContentEvent } from '../domain/contents.ts';
import { isErrorCode, isTurnfoldError, TurnfoldError } from '../domain/errors.ts';
import type { WorkerEvent } from '../domain/events.ts';
import { describeThrown, readSafely } from '../domain/thrown.ts';
import type { ClaimedTurn } from '../store/turn-record.ts';
import type { WorkersSettings } from './workers-options.ts';

/** These settings hold secrets, so they travel in a message, and not as arguments. */
export interface SuspectSettings
  extends Pick<
    WorkersSettings,
    'redisUrl' | 'redisTls' | 'prefix' | 'shards' | 'queueShards' | 'policy' | 'providerWaitMs' | 'blockedMs'
  > {
  readonly agentsModule: string;
  /** True if the parent process collects the texts of requests, answers and tool calls. */
  readonly hasContents: boolean;
  readonly tracesContent: boolean;
  readonly secrets: readonly string[];
}

export type MessageToSuspect =
  | { readonly type: 'run'; readonly settings: SuspectSettings; readonly claimed: ClaimedTurn }
  | { readonly type: 'stop'; readonly deadlineMs: number };

export type MessageFromSuspect =
  /** The process is ready. Everything that happens after this message happens while the turn runs. */
  | { readonly type: 'started' }
  | { readonly type: 'alive' }
  | { readonly type: 'ended'; readonly isCutOff: boolean }
  | { readonly type: 'not_started'; readonly error: SentError }
  | { readonly type: 'event'; readonly event: WorkerEvent }
  | { readonly type: 'content'; readonly content: ContentEvent };

/** An error object would lose its class and its code between processes. */
interface SentError {
  readonly name: string;
  readonly message: string;
  readonly code?: string | undefined;
  readonly stack?: string | undefined;
  readonly field?: string | undefined;
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}

export function packError(error: unknown): SentError {
  const stack = readSafely(error, 'stack');
  const { field, details } = isTurnfoldError(error) ? error : {};
  return { ...describeThrown(error), ...(typeof stack === 'string' && { stack }), field, details };
}

export function unpackError({ name, message, code, stack, field, details }: SentError): Error {
  const error = isErrorCode(code)
    ? new TurnfoldError(code, message, { ...(field !== undefined && { field }), details })
    : Object.assign(new Error(message), name !== 'Error' && { name }, code !== undefined && { code });
  if (stack !== undefined) error.stack = stack;
  return error;
}

export function packEvent(event: WorkerEvent): WorkerEvent {
  return 'error' in event ? { ...event, error: packError(event.error) } : event;
}

export function unpackEvent(event: WorkerEvent): WorkerEvent {
  return 'error' in event ? { ...event, error: unpackError(event.error as SentError) } : event;
}
