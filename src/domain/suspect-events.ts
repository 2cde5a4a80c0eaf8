/** How a child process for a suspect can end. A suspect is a turn during which two workers died. */
export const SUSPECT_OUTCOMES = ['ended', 'died', 'blocked', 'stopped', 'not_started'] as const;
/**
 * - `ended`: the turn was settled, suspended, handed back or lost.
 * - `died`: the process died while it ran the turn.
 * - `blocked`: its event loop gave no sign of life, so the worker ended the process.
 * - `stopped`: the worker shut down.
 * - `not_started`: the process could run no turn. The turn runs alone in the worker instead.
 */
export type SuspectOutcome = (typeof SUSPECT_OUTCOMES)[number];

export type SuspectEvent = {
  readonly type: 'suspect_process_ended';
  readonly outcome: SuspectOutcome;
  readonly durationMs: number;
  /** Absent if a signal ended the process. */
  readonly exitCode?: number;
  readonly signal?: string;
  readonly error?: unknown;
};
