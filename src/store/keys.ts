import { crc32 } from 'node:zlib';
import type { ConversationRef } from '../domain/ids.ts';
import { operationId } from '../domain/ids.ts';
import { DEFAULT_PREFIX, hashTag } from '../domain/namespace.ts';

export interface SchemaRange {
  readonly oldest: number;
  readonly current: number;
}

/**
 * docs/contributing/schema.md says which changes raise `current`, and when `oldest` may be raised. Data of schema 1 has
 * the form of schema 2, except in early databases (`database.ts`).
 */
export const SCHEMAS: SchemaRange = { oldest: 1, current: 2 };

/** Keys that each conversation has at most once. Scripts derive the name of `pk` from that of `log`. */
export type ConversationKey = 'c' | 'log' | 'pk' | 'mb' | 'ver' | 'txt' | 'pass' | 'ix' | 'ev' | 'gone';

/**
 * Names of all keys, which docs/reference/redis-keys.md explains. A script may use only keys of one Cluster hash slot.
 * So all keys of a conversation have the hash tag `{tf<K>}`, where K is the shard: crc32(tenant/id) mod shards. The
 * sets of shard K have the same tag. If an application has a prefix, the tag contains this prefix. Scripts derive the
 * names of the other sets from that of `ready`.
 */
export class Keyspace {
  readonly shards: number;
  readonly prefix: string;

  constructor(shards: number, prefix = DEFAULT_PREFIX) {
    this.shards = shards;
    this.prefix = prefix;
  }

  shardOf(conversation: ConversationRef): number {
    return crc32(`${conversation.tenant}/${conversation.id}`) % this.shards;
  }

  shardNumbers(): number[] {
    return Array.from({ length: this.shards }, (_, shard) => shard);
  }

  shardPrefix(shard: number): string {
    return `${hashTag(this.prefix, 'tf', shard)}:`;
  }

  ready(shard: number): string {
    return `${this.shardPrefix(shard)}ready`;
  }

  failed(shard: number): string {
    return `${this.shardPrefix(shard)}failed`;
  }

  /** Passes that wait for a worker or that a worker owns, by time of request. */
  openPasses(shard: number): string {
    return `${this.shardPrefix(shard)}passes`;
  }

  /** Conversations with an idle TTL, by the time at which it expires. */
  idle(shard: number): string {
    return `${this.shardPrefix(shard)}idle`;
  }

  /** Conversations whose log entries may be packed, by time. */
  unpacked(shard: number): string {
    return `${this.shardPrefix(shard)}unpacked`;
  }

  /** Bad records that `lua/shared/quarantine.lua` moved aside. */
  quarantined(shard: number): string {
    return `${this.shardPrefix(shard)}quarantined`;
  }

  conversations(shard: number): string {
    return `${this.shardPrefix(shard)}conversations`;
  }

  /** Turns that wait for tool results or approvals, as `tenant|kind|id|turn`. */
  waiting(shard: number): string {
    return `${this.shardPrefix(shard)}waiting`;
  }

  sweep(shard: number): string {
    return `${this.shardPrefix(shard)}sweep`;
  }

  barrier(conversation: ConversationRef): string {
    return `${this.shardPrefix(this.shardOf(conversation))}barrier`;
  }

  get sharedTag(): string {
    return hashTag(this.prefix, 'tf');
  }

  database(): string {
    return this.#shared('database');
  }

  /** Calibrations of all models: token count of the provider divided by ours. */
  calibrations(): string {
    return this.#shared('calibrations');
  }

  /**
   * Keys of a gate: waiters by arrival (`waiters`) and by time (`due`), those that wait in their workers (`present`),
   * and calls in progress.
   */
  gate(name: string): Readonly<Record<'state' | 'waiters' | 'due' | 'present' | 'calls', string>> {
    const state = this.#shared(`gate:${name}`);
    const keyOf = (part: string): string => `${state}:${part}`;
    return { state, waiters: keyOf('waiters'), due: keyOf('due'), present: keyOf('present'), calls: keyOf('calls') };
  }

  /** All gates, by the time until which they are kept. */
  gates(): string {
    return this.#shared('gates');
  }

  accessKeys(): string {
    return this.#shared('keys');
  }

  accessKey(id: string): string {
    return this.#shared(`key:${id}`);
  }

  webhooks(): string {
    return this.#shared('webhooks');
  }

  webhookHealth(id: string): string {
    return this.#shared(`webhook:${id}`);
  }

  delivering(): string {
    return this.#shared('delivering');
  }

  /** Ids of a tenant's webhooks, the same in each shard. `lua/shared/outbox.lua` derives this name. */
  tenantWebhooks(shard: number, tenant: string): string {
    return `${this.shardPrefix(shard)}${tenant}:webhooks`;
  }

  /** A tenant's usage of models in one shard. `lua/shared/spending.lua` derives this name. */
  tenantUsage(shard: number, tenant: string): string {
    return `${this.shardPrefix(shard)}${tenant}:usage`;
  }

  /** Conversations with unsent events, by time of the next attempt. `lua/shared/outbox.lua` derives this name. */
  outbox(shard: number): string {
    return `${this.shardPrefix(shard)}outbox`;
  }

  /** First unsent event of each entry of the outbox. `lua/shared/outbox.lua` derives this name. */
  outboxPositions(shard: number): string {
    return `${this.shardPrefix(shard)}outbox:positions`;
  }

  /** Running workers, with roles, start and agents of each. */
  workers(): string {
    return this.#shared('workers');
  }

  /** Connection id of a running worker. The key expires if the worker does not renew it. */
  worker(worker: string): string {
    return this.#shared(`worker:${worker}`);
  }

  /**
   * Agents that no running worker of a role has. The value has the times of the first and the last look for the agent.
   */
  missingAgents(): string {
    return this.#shared('missing');
  }

  sweeping(): string {
    return this.#shared('sweeping');
  }

  measuring(): string {
    return this.#shared('measuring');
  }

  /**
   * Keys of a conversation, in the order of `lua/shared/key-names.lua`. The last four are prefixes, because only
   * scripts know the ids.
   */
  conversation(conversation: ConversationRef): string[] {
    const { id } = conversation;
    const base = this.#base(conversation);
    return [
      `${base}c:${id}`,
      `${base}log:${id}`,
      `${base}mb:${id}`,
      `${base}ver:${id}`,
      `${base}txt:${id}`,
      `${base}pass:${id}`,
      `${base}ix:${id}`,
      `${base}ev:${id}`,
      `${base}gone:${id}`,
      this.ready(this.shardOf(conversation)),
      `${base}t:${id}:`,
      `${base}out:${id}:`,
      `${base}sum:${id}:`,
      `${base}op:${id}:`,
    ];
  }

  /** Pattern for the keys that the index lists. The pattern also matches the record of an expiry. */
  listed(conversation: ConversationRef): string {
    return `${this.#base(conversation)}*:${conversation.id}:*`;
  }

  /** Name of a key in the index, as in `lua/shared/index-names.lua`. Undefined for a key that no index lists. */
  listedName(conversation: ConversationRef, key: string): string | undefined {
    const base = this.#base(conversation);
    const [, kind, rest] = /^([a-z]+):[^:]+:(.+)$/.exec(key.slice(base.length)) ?? [];
    const isListed = kind !== undefined && kind !== 'gone' && key.startsWith(`${base}${kind}:${conversation.id}:`);
    return isListed ? `${kind}:${rest}` : undefined;
  }

  key(conversation: ConversationRef, kind: ConversationKey): string {
    return `${this.#base(conversation)}${kind}:${conversation.id}`;
  }

  turn(conversation: ConversationRef, turn: string): string {
    return `${this.#base(conversation)}t:${conversation.id}:${turn}`;
  }

  /** Pieces of a turn that a client follows, and the channel on which its readers are notified. */
  stream(conversation: ConversationRef, turn: string): string {
    return `${this.#base(conversation)}out:${conversation.id}:${turn}`;
  }

  decision(conversation: ConversationRef, operation: string): string {
    return `${this.#base(conversation)}op:${conversation.id}:review:${operationId(operation)}`;
  }

  summary(conversation: ConversationRef, hash: string): string {
    return `${this.#base(conversation)}sum:${conversation.id}:${hash}`;
  }

  #base(conversation: ConversationRef): string {
    return `${this.shardPrefix(this.shardOf(conversation))}${conversation.tenant}:`;
  }

  #shared(name: string): string {
    return `${this.sharedTag}:${name}`;
  }
}

export function readyMember(kind: 't' | 'p', conversation: ConversationRef): string {
  return `${kind}|${conversation.tenant}|${conversation.id}`;
}

export function idleMember({ tenant, id }: ConversationRef): string {
  return `r|${tenant}|${id}`;
}

export function scheduledMember(conversation: ConversationRef, turn: string): string {
  return `d|${conversation.tenant}|${conversation.id}|${turn}`;
}
