import type { Clock } from '../domain/clock.ts';
import type { ServingRole } from '../store/missing-agents.ts';
import type { AgentFinder } from '../store/presence.ts';
import type { PreparedAgents } from './prepared-agent.ts';

/** Least delay in ms of work that another worker can take. Each delivery gets a random delay of up to twice this. */
const SERVED_MS = 100;
const MISSING_MS = 2_000;
/** ms between two deliveries of work for other workers. So 5,000 such turns cost 50 claims a second. */
const SPACING_MS = 20;
const ANSWER_MS = 500;

interface ElsewhereOptions {
  readonly names: readonly string[];
  readonly presence: AgentFinder;
  readonly clock: Clock;
  /** ms for which no running worker has had an agent, after which the work of that agent fails. */
  readonly giveUpMs: number;
  /** Random number from 0 to 1. */
  readonly random?: () => number;
}

interface Answer {
  readonly at: number;
  readonly found: ReturnType<AgentFinder['findAgent']>;
}

/** Decides about work of agents that this worker lacks. During a rollout, old and new workers share the queues. */
export class AgentsElsewhere {
  readonly names: readonly string[];
  readonly #options: ElsewhereOptions;
  readonly #answers = new Map<string, Answer>();
  #nextAt = 0;

  constructor(options: ElsewhereOptions) {
    this.names = options.names;
    this.#options = options;
  }

  /** ms until any worker may take the work. Undefined: no worker has had the agent for `giveUpMs`, so it must fail. */
  async delayOf(agent: string, role: ServingRole): Promise<number | undefined> {
    const { clock, giveUpMs, random = Math.random } = this.#options;
    const found = await this.#find(agent, role);
    if (found.status === 'missing' && found.forMs >= giveUpMs) return undefined;
    const base = found.status === 'served' ? SERVED_MS : Math.min(MISSING_MS, giveUpMs);
    const now = clock.now();
    const at = Math.max(now + base * (1 + random()), this.#nextAt);
    this.#nextAt = at + SPACING_MS;
    return Math.ceil(at - now);
  }

  async #find(agent: string, role: ServingRole): Promise<Awaited<Answer['found']>> {
    const now = this.#options.clock.now();
    const name = `${role}|${agent}`;
    const known = this.#answers.get(name);
    if (known !== undefined && now - known.at < ANSWER_MS) return await known.found;
    const found = this.#options.presence.findAgent(agent, role);
    const answer = { at: now, found };
    this.#answers.set(name, answer);
    found.catch(() => this.#answers.get(name) === answer && this.#answers.delete(name));
    return await found;
  }
}

/** Delay in ms of work that this worker cannot do. Undefined if this worker has the agent, or if the work must fail. */
export async function delayIfUnserved(
  { agents, elsewhere }: { readonly agents: PreparedAgents; readonly elsewhere?: AgentsElsewhere | undefined },
  agent: string,
  role: ServingRole,
): Promise<number | undefined> {
  return agents.find(agent) === undefined ? await elsewhere?.delayOf(agent, role) : undefined;
}
