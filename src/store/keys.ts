import { crc32 } from 'node:zlib';
import type { ConversationRef } from '../domain/ids.ts';

/**
 * Bump when old programs could misread what new ones write. 2: conversations that are being copied, which a program of 1 would
 * take for whole ones.
 */
export const STORE_SCHEMA = 2;

/**
 * Names of all keys. Everything of a conversation lies under one Cluster slot, by the hash tag `{tf<K>}` with
 * K = crc32(tenant/id) mod shards; so does the `ready` set of its shard, and one script may touch all of them.
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

  /** What every key of a shard begins with. */
  shardPrefix(shard: number): string {
    return `{tf${shard}}:`;
  }

  ready(shard: number): string {
    return `{tf${shard}}:ready`;
  }

  /** Failed turns as `tenant|id|turn`; scripts derive its name from `ready`. */
  failed(shard: number): string {
    return `{tf${shard}}:failed`;
  }

  /** Passes that wait for a worker or have one, by when they were asked for; scripts derive its name from `ready`. */
  openPasses(shard: number): string {
    return `{tf${shard}}:passes`;
  }

  /** Conversations with a time to live, by when they may be erased; scripts derive its name from `ready`. */
  idle(shard: number): string {
    return `{tf${shard}}:idle`;
  }

  /** Bad records that were set aside, as `lua/shared/quarantine.lua` writes them. */
  quarantined(shard: number): string {
    return `{tf${shard}}:quarantined`;
  }

  /** All conversations, as `tenant|id`; scripts derive its name from `ready`. */
  conversations(shard: number): string {
    return `{tf${shard}}:conversations`;
  }

  /** Turns that wait for answers from outside, as `tenant|kind|id|turn`; scripts derive its name from `ready`. */
  waiting(shard: number): string {
    return `{tf${shard}}:waiting`;
  }

  sweep(shard: number): string {
    return `{tf${shard}}:sweep`;
  }

  /** Written before each wait for replicas: see `Barrier`. */
  barrier(conversation: ConversationRef): string {
    return `${this.shardPrefix(this.shardOf(conversation))}barrier`;
  }

  /** Where the settings that must never change are kept. */
  database(): string {
    return '{tf}:database';
  }

  /** How far counts are off, per model. */
  calibrations(): string {
    return '{tf}:calibrations';
  }

  /** Running workers by the time of their last renewal. */
  workers(): string {
    return '{tf}:workers';
  }

  /** Who measures the shared state, until when. */
  measuring(): string {
    return '{tf}:measuring';
  }

  /**
   * The keys that every script of a conversation gets, in the order that `lua/shared/keys.lua` unpacks them. Turn, summary
   * and operation keys are built inside scripts from `base`: which turn is the head is known only there. They lie in the
   * same slot.
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

  /** One key of a conversation, for reads without a script. */
  key(conversation: ConversationRef, kind: 'c' | 'log' | 'mb' | 'ver' | 'txt' | 'pass' | 'ix' | 'ev' | 'gone'): string {
    return `{tf${this.shardOf(conversation)}}:${conversation.tenant}:${kind}:${conversation.id}`;
  }

  turn(conversation: ConversationRef, turn: string): string {
    return `{tf${this.shardOf(conversation)}}:${conversation.tenant}:t:${conversation.id}:${turn}`;
  }

  /** No key: the channel on which text is told while it is written. */
  textChannel(conversation: ConversationRef): string {
    return `{tf${this.shardOf(conversation)}}:${conversation.tenant}:text:${conversation.id}`;
  }

  /** Where the answer to a decision on a proposal is kept. */
  decision(conversation: ConversationRef, operation: string): string {
    return `{tf${this.shardOf(conversation)}}:${conversation.tenant}:op:${conversation.id}:review:${operation}`;
  }

  summary(conversation: ConversationRef, hash: string): string {
    return `{tf${this.shardOf(conversation)}}:${conversation.tenant}:sum:${conversation.id}:${hash}`;
  }
}

/** A member of a `ready` set. */
export function readyMember(kind: 't' | 'p', conversation: ConversationRef): string {
  return `${kind}|${conversation.tenant}|${conversation.id}`;
}

/** A member of a `idle` set. */
export function idleMember({ tenant, id }: ConversationRef): string {
  return `r|${tenant}|${id}`;
}

export function scheduledMember(conversation: ConversationRef, turn: string): string {
  return `d|${conversation.tenant}|${conversation.id}|${turn}`;
}
