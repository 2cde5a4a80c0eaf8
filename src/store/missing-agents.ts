import type { Redis } from 'ioredis';
import type { Keyspace } from './keys.ts';
import { callStore } from './records.ts';
import type { ScriptDefinition } from './script.ts';

/** ms without a look after which a missing agent is forgotten. Workers look again every few seconds while work waits. */
const FORGET_MS = 600_000;

/** Answer to the question if a running worker of a role has an agent. */
export type AgentPresence =
  | { readonly status: 'served' }
  /** No running worker has had the agent for `forMs`. */
  | { readonly status: 'missing'; readonly forMs: number };

/** Roles whose work needs the definition of an agent. */
export type ServingRole = 'turn' | 'compaction' | 'summarization';

export const findAgentScript: ScriptDefinition<[agent: string, role: ServingRole], AgentPresence> = {
  file: 'find-agent',
  keys: (_, keyspace) => [keyspace.workers(), keyspace.missingAgents()],
  args: ([agent, role]) => [agent, role, FORGET_MS],
  decode: (reply) => (reply === null ? { status: 'served' } : { status: 'missing', forMs: reply as number }),
};

/** An agent that has work for a role, and that no running worker of the role has. */
export interface MissingAgent {
  readonly agent: string;
  readonly role: string;
  /** ms since a worker first found no worker with the agent. */
  readonly forMs: number;
}

/** ms after its last look for which an agent counts as missing. A worker looks at 50 waiting turns a second. */
const RECENT_MS = 120_000;

/**
 * Lists the agents that workers lately looked for in vain.
 * @param now clock of Redis in ms since epoch
 */
export async function listMissingAgents(redis: Redis, keyspace: Keyspace, now: number): Promise<MissingAgent[]> {
  const entries = await callStore(() => redis.hgetall(keyspace.missingAgents()));
  return Object.entries(entries).flatMap(([name, text]) => {
    const [role = '', agent = ''] = name.split('|');
    const [since = Number.NaN, last = Number.NaN] = text.split(' ').map(Number);
    return now - last <= RECENT_MS ? [{ agent, role, forMs: Math.max(0, now - since) }] : [];
  });
}
