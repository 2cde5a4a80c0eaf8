import { type ChildProcess, fork } from 'node:child_process';
import { extname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ContentListener } from '../domain/contents.ts';
import type { EventListener, SuspectOutcome } from '../domain/events.ts';
import { nameConversation } from '../domain/ids.ts';
import { TURN_LIMITS } from '../domain/turn.ts';
import type { ClaimedTurn } from '../store/turn-record.ts';
import type { Shutdown } from '../workers/shutdown.ts';
import { systemTimers } from '../workers/timers.ts';
import type { SuspectEnd, SuspectRunner } from '../workers/turn/turn-ports.ts';
import { dropDebugger, readChildEnvironment } from './config.ts';
import {
  type MessageFromSuspect,
  type MessageToSuspect,
  type SuspectSettings,
  unpackError,
  unpackEvent,
} from './suspect-messages.ts';
import type { WorkersSettings } from './workers-options.ts';

const MAX_PROCESSES = 4;
/** Bytes that must be free for each running process, because a process that starts has yet to take about 120 MB. */
const FREE_BYTES = 200_000_000;
/** Heartbeats that a process may miss beyond `blockedMs`. By then Redis holds the cause of its block. */
const GRACE_BEATS = TURN_LIMITS.leaseMs / TURN_LIMITS.heartbeatMs;
/** Heartbeats that a process may miss while it loads its agents, which may block the event loop. */
const MAX_START_BEATS = 30;
/** ms until a kill, for a process that has ended its turn, or whose worker has lost the lease. */
const EXIT_MS = 4_000;
const LAST_MESSAGES_MS = 1_000;
/** Share of the worker's own shutdown deadline in which the child process must hand its turn back. */
const STOP_SHARE = 0.75;

const ENTRY = new URL(`./suspect-process${extname(import.meta.url)}`, import.meta.url);

interface SuspectProcessesOptions
  extends Omit<SuspectSettings, 'hasContents' | 'tracesContent' | 'secrets'>,
    Pick<WorkersSettings, 'shutdownMs' | 'tracesContent' | 'secrets'> {
  readonly shutdown: Shutdown;
  readonly onEvent: EventListener;
  readonly onContent: ContentListener | undefined;
}

/**
 * Runs each suspect (a turn whose workers died twice) in a child process, so that a crash harms no other turn (I10).
 *
 * The worker claims the turn and keeps the conversation in order. The child renews the lease, and does every step and
 * write of the turn (`suspect-service.ts`). It sends the messages started, alive, event, content, not_started and
 * ended. Settings travel as a message, too, because they hold secrets, which arguments and variables would show to
 * others.
 *
 * A process ends in one of these ways. Only the last proves that the turn kills its process:
 * - `ended`: the turn ran with any outcome, or the lease was lost
 * - `not_started`: no process could be created, the agents could not be loaded, or Redis was unreachable
 * - `stopped`: the worker stops. An exit then proves nothing, because the same cause may stop both
 * - `died`, or `blocked` for longer than a worker may block: this death counts towards settling the turn as failed
 *   (poison)
 *
 * A thread would need less than the 120 MB of a process. But a crash in native code ends all threads of a process. If
 * memory runs out, the system also ends the whole process.
 */
export class SuspectProcesses implements SuspectRunner {
  readonly #options: SuspectProcessesOptions;
  #running = 0;

  constructor(options: SuspectProcessesOptions) {
    this.#options = options;
  }

  async run(claimed: ClaimedTurn, leaseEnds: AbortSignal): Promise<SuspectEnd> {
    const { shutdown, onEvent } = this.#options;
    if (shutdown.begun.aborted) return 'stopped';
    const hasMemory = process.availableMemory() >= FREE_BYTES * this.#running;
    if (this.#running >= MAX_PROCESSES || !hasMemory) return 'full';
    this.#running += 1;
    const startedAt = performance.now();
    try {
      const { outcome, ...facts } = await this.#runApart(claimed, leaseEnds);
      const { conversation, turn } = claimed.lease;
      const durationMs = Math.round(performance.now() - startedAt);
      onEvent({
        type: 'suspect_process_ended',
        ...nameConversation(conversation),
        turn,
        outcome,
        durationMs,
        ...facts,
      });
      return outcome === 'blocked' ? 'died' : outcome;
    } finally {
      this.#running -= 1;
    }
  }

  async #runApart(claimed: ClaimedTurn, leaseEnds: AbortSignal): Promise<ProcessEnd> {
    let child: SuspectProcess;
    try {
      child = new SuspectProcess(this.#options);
    } catch (error) {
      return { outcome: 'not_started', error }; // The system lacks memory, or Node may create no process.
    }
    return await child.run(claimed, leaseEnds);
  }
}

interface ProcessEnd {
  readonly outcome: SuspectOutcome;
  readonly exitCode?: number;
  readonly signal?: string;
  readonly error?: unknown;
}

class SuspectProcess {
  readonly #options: SuspectProcessesOptions;
  readonly #child: ChildProcess;
  #state: 'starting' | 'started' | 'blocked' | 'ended' = 'starting';
  #silentBeats = 0;
  #error: unknown;

  constructor(options: SuspectProcessesOptions) {
    this.#options = options;
    const execArgv = dropDebugger(process.execArgv);
    this.#child = fork(ENTRY, {
      serialization: 'advanced',
      env: readChildEnvironment(),
      // Without `execArgv`, Node passes its own options on, and leaves out the program of `node --eval`.
      ...(execArgv.length < process.execArgv.length && { execArgv }),
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
  }

  async run(claimed: ClaimedTurn, leaseEnds: AbortSignal): Promise<ProcessEnd> {
    const { shutdown, shutdownMs } = this.#options;
    const exited = this.#untilExit();
    this.#child.on('message', (message: MessageFromSuspect) => this.#receive(message));
    const beat = systemTimers.every(TURN_LIMITS.heartbeatMs, async () => this.#countSilence());
    const stop = (): void => this.#send({ type: 'stop', deadlineMs: shutdownMs * STOP_SHARE });
    const kill = (): void => this.#kill();
    const killLater = (): void => void systemTimers.after(EXIT_MS, kill);
    shutdown.begun.addEventListener('abort', stop);
    shutdown.workEnds.addEventListener('abort', kill);
    leaseEnds.addEventListener('abort', killLater);
    try {
      this.#send({ type: 'run', settings: this.#settings(), claimed });
      const { exitCode, signal } = await exited;
      const outcome = this.#decide(leaseEnds);
      return {
        outcome,
        ...(exitCode !== null && { exitCode }),
        ...(signal !== null && { signal }),
        ...(outcome === 'not_started' && { error: this.#error ?? new Error('the process ended while it started') }),
      };
    } finally {
      beat.stop();
      shutdown.begun.removeEventListener('abort', stop);
      shutdown.workEnds.removeEventListener('abort', kill);
      leaseEnds.removeEventListener('abort', killLater);
    }
  }

  #decide(leaseEnds: AbortSignal): SuspectOutcome {
    if (this.#state === 'ended' || leaseEnds.aborted) return 'ended';
    if (this.#options.shutdown.begun.aborted) return 'stopped';
    if (this.#state === 'starting') return 'not_started';
    return this.#state === 'blocked' ? 'blocked' : 'died';
  }

  #settings(): SuspectSettings {
    const { redisUrl, redisTls, prefix, shards, queueShards, agentsModule, policy, providerWaitMs, blockedMs } =
      this.#options;
    const { onContent, tracesContent = false, secrets = [] } = this.#options;
    const contents = { hasContents: onContent !== undefined, tracesContent, secrets };
    const location = { redisUrl, redisTls, prefix, shards, queueShards };
    return { ...location, agentsModule, policy, providerWaitMs, blockedMs, ...contents };
  }

  #receive(message: MessageFromSuspect): void {
    const { onEvent, onContent, shutdown } = this.#options;
    this.#silentBeats = 0;
    switch (message.type) {
      case 'started':
        this.#state = 'started';
        return;
      case 'alive':
        return;
      case 'event':
        return onEvent(unpackEvent(message.event));
      case 'content':
        return onContent?.(message.content);
      case 'not_started':
        this.#error = unpackError(message.error);
        return;
      case 'ended':
        this.#state = 'ended';
        if (message.isCutOff) shutdown.noteCutOff();
        systemTimers.after(EXIT_MS, () => this.#kill());
    }
  }

  /** Counts heartbeats, not ms. A block of this process counts as one, and then the child's messages are read. */
  #countSilence(): void {
    this.#silentBeats += 1;
    const blockedBeats = this.#options.blockedMs / TURN_LIMITS.heartbeatMs + GRACE_BEATS;
    if (this.#silentBeats <= (this.#state === 'starting' ? MAX_START_BEATS : blockedBeats)) return;
    if (this.#state === 'starting') this.#error ??= new Error('the process did not start in time');
    if (this.#state === 'started') this.#state = 'blocked';
    this.#kill();
  }

  #send(message: MessageToSuspect): void {
    // A dead child cannot receive the message. `#untilExit` handles its exit.
    if (!this.#child.connected) return;
    try {
      this.#child.send(message, () => undefined);
    } catch (error) {
      this.#error ??= error; // The message holds a value that cannot be copied.
      this.#kill();
    }
  }

  #kill(): void {
    this.#child.kill('SIGKILL');
  }

  /** Resolves when the child has exited and all its messages have arrived. */
  async #untilExit(): Promise<{ readonly exitCode: number | null; readonly signal: string | null }> {
    const child = this.#child;
    const disconnected = new Promise<void>((resolve) => child.once('disconnect', resolve));
    await new Promise<void>((resolve) => {
      child.once('exit', resolve);
      child.on('error', (error) => {
        this.#error ??= error;
        if (child.pid === undefined) resolve(); // The system could not create the process.
      });
    });
    await Promise.race([disconnected, delay(LAST_MESSAGES_MS, undefined, { ref: false })]);
    return { exitCode: child.exitCode, signal: child.signalCode };
  }
}
