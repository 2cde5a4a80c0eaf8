import { crc32 } from 'node:zlib';
import type { ConversationRef } from '../domain/ids.ts';
import { DEFAULT_PREFIX, hashTag } from '../domain/namespace.ts';
import { operationId } from '../domain/operation.ts';

/** Range of database schemas. */
export interface SchemaRange {
  /** The oldest schema whose data this program reads as it is, or migrates at the first touch. */
  readonly oldest: number;
  /** The schema that this program writes. */
  readonly current: number;
}

/**
 * Schemas of this program. docs/contributing/schema.md says which changes raise `current`, and when `oldest` may follow. Data of
 * schema 1 has the same form as that of 2, except in early databases (`early-databases.ts`).
 */
export const SCHEMAS: SchemaRange = { oldest: 1, current: 2 };

/** Kinds of keys of which a conversation has one each. Scripts derive the name of `pk` from that of `log`. */
export type ConversationKey = 'c' | 'log' | 'pk' | 'mb' | 'ver' | 'txt' | 'pass' | 'ix' | 'ev' | 'gone';

/**
 * Builds the names of all Redis keys. All keys of a conversation are in one Cluster hash slot, by the hash tag
 * `{tf<K>}` with K = crc32(tenant/id) mod shards. The tag also holds the prefix of an application that has one. The sorted sets of the shard are in the same slot, so one script may
 * use all of them.
 */
export class Keyspace {
  readonly shards: number;
  /** Application that the keys belong to. */
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

  /** Prefix of all keys of a shard (a group of conversations). */
  shardPrefix(shard: number): string {
    return `${hashTag(this.prefix, 'tf', shard)}:`;
  }

  ready(shard: number): string {
    return `${this.shardPrefix(shard)}ready`;
  }

  /** Key of the failed turns of a shard, as `tenant|id|turn`. Scripts derive this name from that of `ready`. */
  failed(shard: number): string {
    return `${this.shardPrefix(shard)}failed`;
  }

  /**
   * Key of the compaction passes that wait for a worker or have one, by time of request. Scripts derive this name from
   * that of `ready`.
   */
  openPasses(shard: number): string {
    return `${this.shardPrefix(shard)}passes`;
  }

  /**
   * Key of the conversations with an idle TTL, by the time at which it expires. Scripts derive this name from that of
   * `ready`.
   */
  idle(shard: number): string {
    return `${this.shardPrefix(shard)}idle`;
  }

  /**
   * Key of the conversations whose log entries may be packed, by time. Scripts derive this name from that of `ready`.
   */
  unpacked(shard: number): string {
    return `${this.shardPrefix(shard)}unpacked`;
  }

  /** Key of the shard's quarantine: bad records that `lua/shared/quarantine.lua` moved there. */
  quarantined(shard: number): string {
    return `${this.shardPrefix(shard)}quarantined`;
  }

  /** Key of the list of all conversations of a shard, as `tenant|id`. Scripts derive this name from that of `ready`. */
  conversations(shard: number): string {
    return `${this.shardPrefix(shard)}conversations`;
  }

  /**
   * Key of the turns that wait for tool results or approvals, as `tenant|kind|id|turn`. Scripts derive this name from
   * that of `ready`.
   */
  waiting(shard: number): string {
    return `${this.shardPrefix(shard)}waiting`;
  }

  sweep(shard: number): string {
    return `${this.shardPrefix(shard)}sweep`;
  }

  /** Key that is written before each wait for replicas. See `Barrier`. */
  barrier(conversation: ConversationRef): string {
    return `${this.shardPrefix(this.shardOf(conversation))}barrier`;
  }

  /** Hash tag of the keys that all shards share. */
  get sharedTag(): string {
    return hashTag(this.prefix, 'tf');
  }

  /** Key of the database settings that must never change. */
  database(): string {
    return this.#shared('database');
  }

  /** Key of the calibrations (token count of the provider divided by ours) of all models. */
  calibrations(): string {
    return this.#shared('calibrations');
  }

  /**
   * Keys of a model's gate: its state, its waiters by arrival and by time, and its calls in progress. `present` are the waiters
   * that wait in their workers.
   */
  gate(name: string): Readonly<Record<'state' | 'waiters' | 'due' | 'present' | 'calls', string>> {
    const state = this.#shared(`gate:${name}`);
    const keyOf = (part: string): string => `${state}:${part}`;
    return { state, waiters: keyOf('waiters'), due: keyOf('due'), present: keyOf('present'), calls: keyOf('calls') };
  }

  /** Key of the names of all gates, by the time until which they are known. */
  gates(): string {
    return this.#shared('gates');
  }

  /** Key of the list of all access keys, as `tenant|id`. */
  accessKeys(): string {
    return this.#shared('keys');
  }

  accessKey(id: string): string {
    return this.#shared(`key:${id}`);
  }

  /** Key of the webhooks of all tenants, by id. */
  webhooks(): string {
    return this.#shared('webhooks');
  }

  /** Key of the failures of a webhook. */
  webhookHealth(id: string): string {
    return this.#shared(`webhook:${id}`);
  }

  /** Key of the lease of the worker that delivers webhooks. */
  delivering(): string {
    return this.#shared('delivering');
  }

  /** Key of the ids of a tenant's webhooks, the same in each shard. `lua/shared/events.lua` derives this name. */
  tenantWebhooks(shard: number, tenant: string): string {
    return `${this.shardPrefix(shard)}${tenant}:webhooks`;
  }

  /** Key of a tenant's usage of models, one hash in each shard. `lua/shared/spending.lua` derives this name. */
  tenantUsage(shard: number, tenant: string): string {
    return `${this.shardPrefix(shard)}${tenant}:usage`;
  }

  /** Key of the outbox of a shard, by time of the next attempt. `lua/shared/events.lua` derives this name. */
  outbox(shard: number): string {
    return `${this.shardPrefix(shard)}outbox`;
  }

  /** Key of the first unsent event of each entry of the outbox. `lua/shared/events.lua` derives this name. */
  outboxPositions(shard: number): string {
    return `${this.shardPrefix(shard)}outbox:positions`;
  }

  /** Key of the running workers: roles, start and agents of each. */
  workers(): string {
    return this.#shared('workers');
  }

  /** Key of the connection of a running worker. The key expires if the worker does not renew it. */
  worker(worker: string): string {
    return this.#shared(`worker:${worker}`);
  }

  /** Key of the agents that no running worker of a role has: the times of the first and the last look for each. */
  missingAgents(): string {
    return this.#shared('missing');
  }

  /** Key of the lease of the worker that sweeps all shards. */
  sweeping(): string {
    return this.#shared('sweeping');
  }

  /** Key of the lease under which one worker measures the state that all workers share. */
  measuring(): string {
    return this.#shared('measuring');
  }

  /**
   * Keys for every script on a conversation, in the order of `lua/shared/key-names.lua`. For turns, streams,
   * summaries and operations the list has only prefixes, because only the script knows the ids. Keys with these prefixes are in the
   * same slot.
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

  /** Pattern of the keys that the index of a conversation lists. It also matches the record of an expiry. */
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

  /** Key of the pieces of a turn that a client follows, and name of the channel on which its readers are notified. */
  stream(conversation: ConversationRef, turn: string): string {
    return `${this.#base(conversation)}out:${conversation.id}:${turn}`;
  }

  /** Key of the outcome of a person's decision on a compaction proposal. */
  decision(conversation: ConversationRef, operation: string): string {
    return `${this.#base(conversation)}op:${conversation.id}:review:${operationId(operation)}`;
  }

  summary(conversation: ConversationRef, hash: string): string {
    return `${this.#base(conversation)}sum:${conversation.id}:${hash}`;
  }

  /** Prefix of all keys of a conversation. */
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
