import { crc32 } from 'node:zlib';
import type { ConversationRef } from '../domain/ids.ts';

/** Schema of the database. Raise it when older programs could misread new data. */
export const STORE_SCHEMA = 1;

/**
 * Names of all keys. All keys of a conversation lie in one Cluster slot, by the hash tag `{tf<K>}` with K = crc32(tenant/id)
 * mod shards. The sets of the shard lie in the same slot, so one script may use all of them.
 */
export class Keyspace {
  readonly shards: number;

  constructor(shards: number) {
    this.shards = shards;
  }

  shardOf(conversation: ConversationRef): number {
    return crc32(`${conversation.tenant}/${conversation.id}`) % this.shards;
  }

  shardNumbers(): number[] {
    return Array.from({ length: this.shards }, (_, shard) => shard);
  }

  /** Prefix of all keys of a shard. */
  shardPrefix(shard: number): string {
    return `{tf${shard}}:`;
  }

  ready(shard: number): string {
    return `{tf${shard}}:ready`;
  }

  /** Failed turns as `tenant|id|turn`. Scripts derive the name from `ready`. */
  failed(shard: number): string {
    return `{tf${shard}}:failed`;
  }

  /** Passes that wait for a worker or have one, by time of request. Scripts derive the name from `ready`. */
  openPasses(shard: number): string {
    return `{tf${shard}}:passes`;
  }

  /** Conversations with an idle TTL, by the end of that TTL. Scripts derive the name from `ready`. */
  idle(shard: number): string {
    return `{tf${shard}}:idle`;
  }

  /** Bad records that were set aside, as `lua/shared/quarantine.lua` writes them. */
  quarantined(shard: number): string {
    return `{tf${shard}}:quarantined`;
  }

  /** All conversations as `tenant|id`. Scripts derive the name from `ready`. */
  conversations(shard: number): string {
    return `{tf${shard}}:conversations`;
  }

  /** Turns that wait for outside answers, as `tenant|kind|id|turn`. Scripts derive the name from `ready`. */
  waiting(shard: number): string {
    return `{tf${shard}}:waiting`;
  }

  sweep(shard: number): string {
    return `{tf${shard}}:sweep`;
  }

  /** Mark that is written before each wait for replicas: see `Barrier`. */
  barrier(conversation: ConversationRef): string {
    return `${this.shardPrefix(this.shardOf(conversation))}barrier`;
  }

  /** Settings that must never change. */
  database(): string {
    return '{tf}:database';
  }

  /** Calibrations per model. */
  calibrations(): string {
    return '{tf}:calibrations';
  }

  /** Running workers by the time of their last renewal. */
  workers(): string {
    return '{tf}:workers';
  }

  /** Lease on measuring the shared state. */
  measuring(): string {
    return '{tf}:measuring';
  }

  /**
   * Keys of every script of a conversation, in the order of `lua/shared/key-names.lua`. Scripts build the keys of turns,
   * summaries and operations from their prefixes, because only the script knows the head turn. They lie in the same slot.
   */
  conversation(conversation: ConversationRef): string[] {
    const { tenant, id } = conversation;
    const shard = this.shardOf(conversation);
    const base = `{tf${shard}}:${tenant}:`;
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
      this.ready(shard),
      `${base}t:${id}:`,
      `${base}sum:${id}:`,
      `${base}op:${id}:`,
    ];
  }

  key(conversation: ConversationRef, kind: 'c' | 'log' | 'mb' | 'ver' | 'txt' | 'pass' | 'ix' | 'ev' | 'gone'): string {
    return `{tf${this.shardOf(conversation)}}:${conversation.tenant}:${kind}:${conversation.id}`;
  }

  turn(conversation: ConversationRef, turn: string): string {
    return `{tf${this.shardOf(conversation)}}:${conversation.tenant}:t:${conversation.id}:${turn}`;
  }

  /** Channel that publishes text while a model writes it. It is not a key. */
  textChannel(conversation: ConversationRef): string {
    return `{tf${this.shardOf(conversation)}}:${conversation.tenant}:text:${conversation.id}`;
  }

  /** Outcome of a decision on a proposal. */
  decision(conversation: ConversationRef, operation: string): string {
    return `{tf${this.shardOf(conversation)}}:${conversation.tenant}:op:${conversation.id}:review:${operation}`;
  }

  summary(conversation: ConversationRef, hash: string): string {
    return `{tf${this.shardOf(conversation)}}:${conversation.tenant}:sum:${conversation.id}:${hash}`;
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
