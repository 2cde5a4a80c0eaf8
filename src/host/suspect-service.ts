import { fieldError } from '../domain/errors.ts';
import type { EventListener } from '../domain/events.ts';
import { readSafely } from '../domain/thrown.ts';
import { TURN_LIMITS } from '../domain/turn.ts';
import { openWakeQueue } from '../jobs/bullmq/wake-queue.ts';
import { createIdSource } from '../jobs/id-source.ts';
import { connectStore } from '../store/connect-store.ts';
import { flushSpans } from '../telemetry/traces.ts';
import { Calibrations } from '../workers/calibrations.ts';
import { Gates } from '../workers/gates.ts';
import type { PreparedAgents } from '../workers/prepared-agent.ts';
import { Shutdown } from '../workers/shutdown.ts';
import { systemTimers } from '../workers/timers.ts';
import { readAgents } from './agent-schema.ts';
import { prepareAgents } from './agents.ts';
import { createHandlers, type Handlers } from './handlers.ts';
import { createListeners, reportTo } from './listeners.ts';
import {
  type MessageFromSuspect,
  type MessageToSuspect,
  packError,
  packEvent,
  type SuspectSettings,
} from './suspect-messages.ts';
import { systemClock } from './system.ts';
import { watchLoop } from './watch-loop.ts';

type Task = Extract<MessageToSuspect, { type: 'run' }>;
type Answer = Handlers['suspect'];

/** ms in which a process whose parent died must hand its turn back. */
const ORPHAN_MS = 2_000;

/** A terminal or an init system sends these signals to worker and child. Only the worker reacts to them. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export function serveSuspect(): void {
  const shutdown = new Shutdown();
  ignoreSignals();
  process.once('disconnect', () => {
    shutdown.begin(ORPHAN_MS, systemTimers);
    setTimeout(() => process.exit(1), ORPHAN_MS);
  });
  process.on('message', (message: MessageToSuspect) => {
    if (message.type === 'stop') shutdown.begin(message.deadlineMs, systemTimers);
    else void runTask(message, shutdown);
  });
}

/** Ignores these signals, and replaces the handlers of the agents module, which may end the process. */
function ignoreSignals(): void {
  for (const signal of SIGNALS) process.removeAllListeners(signal).on(signal, () => undefined);
}

async function runTask(task: Task, shutdown: Shutdown): Promise<void> {
  const onEvent: EventListener = (event) => send({ type: 'event', event: packEvent(event) });
  let answer: Answer;
  try {
    answer = await prepare(task, shutdown, onEvent);
  } catch (error) {
    send({ type: 'not_started', error: packError(error) }, () => process.exit(1));
    return;
  }
  send({ type: 'started' });
  systemTimers.every(TURN_LIMITS.heartbeatMs, async () => send({ type: 'alive' }));
  let hasRun = true;
  try {
    hasRun = (await answer(task.claimed)).status !== 'postponed';
  } catch (error) {
    reportTo(onEvent)(error, 'turn');
  }
  await flushSpans();
  if (hasRun) send({ type: 'ended', isCutOff: shutdown.cutOff > 0 }, () => process.exit(0));
  else process.exit(0);
}

/** @throws any error that keeps this process from running a turn */
async function prepare({ settings, claimed }: Task, shutdown: Shutdown, forward: EventListener): Promise<Answer> {
  const { redisUrl: url, redisTls: tls, prefix, shards, queueShards, providerWaitMs } = settings;
  const { hasContents, tracesContent, secrets } = settings;
  const { onEvent, onContent, tracing } = createListeners({
    onEvent: forward,
    ...(hasContents && { onContent: (content) => send({ type: 'content', content }) }),
    tracesContent,
    secrets,
  });
  const calibrations = new Calibrations({ clock: systemClock, timers: systemTimers, onEvent });
  const agents = await loadAgents(settings, calibrations);
  if (agents.find(claimed.agent) === undefined) {
    throw fieldError('invalid_config', 'agentsModule', `the module exports no agent named "${claimed.agent}"`);
  }
  const onError = reportTo(onEvent);
  const onStoreError = (error: Error): void => onError(error, 'store');
  // The connection does not carry the worker's name: that name must show the death of the worker, not of this process.
  const { store, gates: gateStore } = await connectStore({ url, tls, prefix, shards, onError: onStoreError });
  await calibrations.start(store);
  const gates = new Gates({ clock: systemClock, timers: systemTimers, onEvent });
  gates.start(gateStore);
  const worker = createIdSource().next();
  const loop = watchLoop({ settings, onEvent }, { worker, owner: claimed.lease.owner });
  const { suspect } = createHandlers({
    worker,
    loop,
    store,
    wakes: openWakeQueue({ url, tls, prefix, shards: queueShards, onError }),
    agents,
    calibrations,
    gates,
    providerWaitMs,
    summarizers: () => [], // Only the summarization role writes summaries.
    onEvent,
    onContent,
    tracing,
    shutdown,
  });
  return suspect;
}

async function loadAgents(
  { agentsModule, policy }: SuspectSettings,
  calibrations: Calibrations,
): Promise<PreparedAgents> {
  const module: unknown = await import(agentsModule);
  ignoreSignals();
  const { agents, problems } = readAgents(readSafely(module, 'agents'));
  if (problems[0] !== undefined) throw problems[0];
  return await prepareAgents(agents, policy, (model, initial) => calibrations.factorOf(model, initial));
}

function send(message: MessageFromSuspect, onSent: () => void = () => undefined): void {
  if (process.connected) process.send?.(message, undefined, undefined, onSent);
  else onSent();
}
