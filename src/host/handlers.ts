import type { Clock } from '../domain/clock.ts';
import type { ContentListener } from '../domain/contents.ts';
import type { EventLoop } from '../domain/event-loop.ts';
import type { EventListener } from '../domain/events.ts';
import type { Policy } from '../domain/policy.ts';
import { PROCESS_DEFAULTS } from '../domain/process-options.ts';
import type { Summarizer } from '../domain/summarizer.ts';
import type { Tracing } from '../domain/tracing.ts';
import { createIdSource, createOwnerSource } from '../jobs/id-source.ts';
import type { PassHandler, SummarizationHandler, TurnDeliveryResult, TurnHandler, WakeQueue } from '../jobs/ports.ts';
import type { Store } from '../store/open-store.ts';
import type { ClaimedTurn } from '../store/turn-record.ts';
import type { AgentsElsewhere } from '../workers/agents-elsewhere.ts';
import type { Calibrations } from '../workers/calibrations.ts';
import { createPassHandler, takeOverPass } from '../workers/compaction/pass-delivery.ts';
import { recountContext } from '../workers/compaction/recount.ts';
import { createShadow } from '../workers/compaction/shadow.ts';
import type { Gates } from '../workers/gates.ts';
import type { PreparedAgents } from '../workers/prepared-agent.ts';
import { withQuarantine, withReadableSummaries } from '../workers/quarantine.ts';
import type { Shutdown } from '../workers/shutdown.ts';
import { withSharedSlot } from '../workers/solo-lock.ts';
import { createSummarizationHandler } from '../workers/summarization/summarization-delivery.ts';
import { createSweeper, type Sweeper } from '../workers/sweeper/sweeper.ts';
import { systemTimers } from '../workers/timers.ts';
import { answerSuspect, createTurnHandler } from '../workers/turn/turn-delivery.ts';
import type { PassTakeover, SuspectRunner } from '../workers/turn/turn-ports.ts';
import { processLock, systemClock } from './system.ts';

export interface HandlerParts {
  readonly worker: string;
  readonly store: Store;
  readonly wakes: WakeQueue;
  readonly agents: PreparedAgents;
  readonly calibrations: Calibrations;
  /** Summarizers in the order in which they are tried. The last one needs no model. */
  readonly summarizers: (policy: Policy, agent: string) => readonly Summarizer[];
  readonly onEvent: EventListener;
  readonly onContent?: ContentListener | undefined;
  readonly tracing: Tracing;
  readonly shutdown: Shutdown;
  readonly clock?: Clock;
  readonly loop?: EventLoop | undefined;
  readonly shadowed?: PreparedAgents | undefined;
  /** Runs suspects (turns whose workers died twice). Undefined: a suspect runs alone in this process. */
  readonly suspects?: SuspectRunner | undefined;
  /** Undefined: work of agents that this process lacks fails at once. */
  readonly elsewhere?: AgentsElsewhere | undefined;
  readonly gates?: Gates | undefined;
  readonly providerWaitMs?: number;
}

export interface Handlers {
  readonly turn: TurnHandler;
  /** Answers a turn that the parent process has claimed. Called in a child process that runs nothing else. */
  readonly suspect: (claimed: ClaimedTurn) => Promise<TurnDeliveryResult>;
  readonly compaction: PassHandler;
  readonly summarization: SummarizationHandler;
  readonly sweeper: Sweeper;
}

export function createHandlers(parts: HandlerParts): Handlers {
  const { store, summarizers, shadowed, wakes, agents, calibrations, onEvent, onContent, tracing, shutdown } = parts;
  const { worker, suspects, elsewhere, gates, loop, clock = systemClock } = parts;
  const { providerWaitMs = PROCESS_DEFAULTS.providerWaitMs } = parts;
  const listeners = { onEvent, onContent, tracing };
  const system = {
    clock,
    ids: createIdSource(),
    owners: createOwnerSource(worker),
    timers: systemTimers,
    loop,
    shutdown,
    solo: processLock,
  };
  const shared = { contexts: store, wakes, agents, elsewhere, gates, calibrations, ...listeners, ...system };
  const sweepPorts = { ...shared, sweep: store };
  const summaries = withReadableSummaries(store, sweepPorts);
  const compaction = { ...shared, passes: store, summaries };
  const takeover: PassTakeover = {
    settleNow: (conversation) => takeOverPass(compaction, conversation),
    recount: (conversation, request) => recountContext(compaction, conversation, request),
  };
  // Only the compaction role measures the shadow policy, because a turn that compacts by itself must not wait for it.
  const shadow = shadowed && createShadow({ ...shared, agents: shadowed, summarizers });
  const turnPorts = {
    ...shared,
    turns: store,
    passes: store,
    streams: store,
    takeover,
    suspects,
    settings: { providerWaitMs },
  };
  return {
    turn: withQuarantine(sweepPorts, (conversation) => ({ kind: 'turn', conversation }), createTurnHandler(turnPorts)),
    suspect: withQuarantine(
      sweepPorts,
      ({ lease: { conversation } }) => ({ kind: 'turn', conversation }),
      (claimed) => answerSuspect(turnPorts, claimed),
    ),
    compaction: withSharedSlot(
      system,
      withQuarantine(
        sweepPorts,
        ({ conversation }) => ({ kind: 'pass', conversation }),
        createPassHandler({ ...compaction, ...(shadow && { shadow }) }),
      ),
    ),
    summarization: withSharedSlot(system, createSummarizationHandler({ ...shared, summaries, summarizers })),
    sweeper: createSweeper(sweepPorts),
  };
}
