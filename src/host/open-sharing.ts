import type { EventListener } from '../domain/events.ts';
import type { GateStore } from '../store/gates.ts';
import type { AgentFinder } from '../store/presence.ts';
import { AgentsElsewhere } from '../workers/agents-elsewhere.ts';
import { Gates } from '../workers/gates.ts';
import { systemTimers } from '../workers/timers.ts';
import type { Closers } from './closers.ts';
import { systemClock } from './system.ts';
import type { WorkersSettings } from './workers-options.ts';

/** Opens the gates that this process shares with all other workers, until it closes. */
export function openGates(
  store: GateStore,
  { onEvent, closers }: { readonly onEvent: EventListener; readonly closers: Closers },
): Gates {
  const gates = new Gates({ clock: systemClock, timers: systemTimers, onEvent });
  gates.start(store);
  closers.add(() => gates.stop());
  return gates;
}

/** Opens the decision about work of agents that only other workers have. */
export function openElsewhere(
  presence: AgentFinder,
  { agents, missingAgentMs: giveUpMs }: Pick<WorkersSettings, 'agents' | 'missingAgentMs'>,
): AgentsElsewhere {
  const names = agents.map(({ name }) => name);
  return new AgentsElsewhere({ names, presence, clock: systemClock, giveUpMs });
}
