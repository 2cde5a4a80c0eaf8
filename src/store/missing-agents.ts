import type { Redis } from 'ioredis';
import type { Keyspace } from './keys.ts';
import { callStore } from './records.ts';
import type { ScriptDefinition } from './script.ts';

/**
 * The entry of a missing agent is dropped this many ms after the last search for it. While work waits, workers search
 * every few seconds.
 */
const FORGET_MS = 600_000;

export type AgentPresence = { readonly status: 'served' } | { readonly status: 'missing'; readonly forMs: number };

export type ServingRole = 'turn' | 'compaction' | 'summarization';

export const findAgentScript: ScriptDefinition<[agent: string, role: ServingRole], AgentPresence> = {
  file: 'find-agent',
  keys: (_, keyspace) => ({ workers: keyspace.workers(), missing: keyspace.missingAgents() }),
  args: ([agent, role]) => ({ agent, role, forgetMs: FORGET_MS }),
  decode: (reply) => (reply === null ? { status: 'served' } : { status: 'missing', forMs: reply as number }),
};

export interface MissingAgent {
  readonly agent: string;
  readonly role: string;
  readonly forMs: number;
}

/** An agent counts as missing for this many ms after the last search that did not find it. */
const RECENT_MS = 120_000;

/** @param now clock of Redis in ms since epoch */
export async function listMissingAgents(redis: Redis, keyspace: Keyspace, now: number): Promise<MissingAgent[]> {
  const entries = await callStore(() => redis.hgetall(keyspace.missingAgents()));
  return Object.entries(entries).flatMap(([name, text]) => {
    const [role = '', agent = ''] = name.split('|');
    const [since = Number.NaN, last = Number.NaN] = text.split(' ').map(Number);
    return now - last <= RECENT_MS ? [{ agent, role, forMs: Math.max(0, now - since) }] : [];
  });
}
