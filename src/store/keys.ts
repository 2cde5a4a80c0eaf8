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
 * So all keys of a conversation, and the sets of its shard K, have the hash tag `{tf<K>}`, with K = crc32(tenant/id)
 * mod shards. If an application has a prefix, the tag contains it. Scripts derive further names from those that they
 * get.
 */
export class Keyspace {
  readonly shards: number;
  readonly prefix: string;

  readonly ready = (shard: number): string => `${this.shardPrefix(shard)}ready`;
  readonly failed = (shard: number): string => `${this.shardPrefix(shard)}failed`;
  readonly openPasses = (shard: number): string => `${this.shardPrefix(shard)}passes`;
  readonly idle = (shard: number): string => `${this.shardPrefix(shard)}idle`;
  readonly unpacked = (shard: number): string => `${this.shardPrefix(shard)}unpacked`;
  readonly quarantined = (shard: number): string => `${this.shardPrefix(shard)}quarantined`;
  readonly conversations = (shard: number): string => `${this.shardPrefix(shard)}conversations`;
  readonly indexed = (shard: number): string => `${this.shardPrefix(shard)}indexed`;
  readonly waiting = (shard: number): string => `${this.shardPrefix(shard)}waiting`;
  readonly sweep = (shard: number): string => `${this.shardPrefix(shard)}sweep`;
  readonly outbox = (shard: number): string => `${this.shardPrefix(shard)}outbox`;
  readonly outboxPositions = (shard: number): string => `${this.shardPrefix(shard)}outbox:positions`;

  readonly database = (): string => `${this.sharedTag}:database`;
  readonly calibrations = (): string => `${this.sharedTag}:calibrations`;
  readonly gates = (): string => `${this.sharedTag}:gates`;
  readonly delivering = (): string => `${this.sharedTag}:delivering`;
  readonly sweeping = (): string => `${this.sharedTag}:sweeping`;
  readonly measuring = (): string => `${this.sharedTag}:measuring`;

  /** Hash tag of all shards, without the number of a shard and the closing brace. */
  readonly #openTag: string;

  constructor(shards: number, prefix = DEFAULT_PREFIX) {
    this.shards = shards;
    this.prefix = prefix;
    this.#openTag = this.sharedTag.slice(0, -1);
  }

  shardOf(conversation: ConversationRef): number {
    return crc32(`${conversation.tenant}/${conversation.id}`) % this.shards;
  }

  shardNumbers(): number[] {
    return Array.from({ length: this.shards }, (_, shard) => shard);
  }

  shardPrefix(shard: number): string {
    return `${this.#openTag}${shard}}:`;
  }

  barrier(conversation: ConversationRef): string {
    return `${this.shardPrefix(this.shardOf(conversation))}barrier`;
  }

  get sharedTag(): string {
    return hashTag(this.prefix, 'tf');
  }

  /** `waiters` are ordered by arrival, `due` by the time to ask again. `present` has those that wait in a worker. */
  gate(name: string): Readonly<Record<'state' | 'waiters' | 'due' | 'present' | 'calls', string>> {
    const state = this.#shared(`gate:${name}`);
    const keyOf = (part: string): string => `${state}:${part}`;
    return { state, waiters: keyOf('waiters'), due: keyOf('due'), present: keyOf('present'), calls: keyOf('calls') };
  }

  accessKeys(): string {
    return this.#shared('keys');
  }

  accessKey(id: string): string {
    return this.#shared(`key:${id}`);
  }

  tokenSecrets(tenant: string): string {
    return this.#shared(`tokens:${tenant}`);
  }

  webhooks(): string {
    return this.#shared('webhooks');
  }

  webhookHealth(id: string): string {
    return this.#shared(`webhook:${id}`);
  }

  webhookTests(): string {
    return this.#shared('webhook-tests');
  }

  tenantWebhooks(shard: number, tenant: string): string {
    return `${this.shardPrefix(shard)}${tenant}:webhooks`;
  }

  tenantUsage(shard: number, tenant: string): string {
    return `${this.shardPrefix(shard)}${tenant}:usage`;
  }

  /** Conversations of a tenant, or of one of its owners, by the time of their last message. */
  recent(shard: number, tenant: string, owner?: string): string {
    const base = `${this.shardPrefix(shard)}${tenant}:`;
    return owner === undefined ? `${base}recent` : `${base}by-owner:${owner}`;
  }

  workers(): string {
    return this.#shared('workers');
  }

  worker(worker: string): string {
    return this.#shared(`worker:${worker}`);
  }

  missingAgents(): string {
    return this.#shared('missing');
  }

  /**
   * Keys of a conversation, with the names of `lua/shared/key-names.lua`. The last four are prefixes, because only
   * scripts know the ids.
   */
  conversation(conversation: ConversationRef): Readonly<Record<string, string>> {
    const base = this.#base(conversation);
    const end = `:${conversation.id}`;
    return {
      c: `${base}c${end}`,
      log: `${base}log${end}`,
      mb: `${base}mb${end}`,
      ver: `${base}ver${end}`,
      txt: `${base}txt${end}`,
      pass: `${base}pass${end}`,
      ix: `${base}ix${end}`,
      ev: `${base}ev${end}`,
      gone: `${base}gone${end}`,
      ready: this.ready(this.shardOf(conversation)),
      turnPrefix: `${base}t${end}:`,
      streamPrefix: `${base}out${end}:`,
      summaryPrefix: `${base}sum${end}:`,
      operationPrefix: `${base}op${end}:`,
    };
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
