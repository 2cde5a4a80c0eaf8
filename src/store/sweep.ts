import type { Redis } from 'ioredis';
import type { ConversationRef } from '../domain/ids.ts';
import {
  type DueEntry,
  type ExpireResult,
  QUARANTINE_SETS,
  type QuarantineEntry,
  SWEEP_CLAIM_MS,
  type SweepDecision,
  type SweepStore,
  type UnreadableRecord,
} from '../domain/ports/sweep-store.ts';
import { ERASE_BATCH, GONE_MS } from './contexts.ts';
import { idleMember, type Keyspace, readyMember, scheduledMember } from './keys.ts';
import { bindScript, type ScriptDefinition } from './script.ts';
import { hearShards, joinMeasures, measureShard } from './shard-measures.ts';
import { type ShardSweep, ShardSweeps } from './shard-sweeps.ts';

/** Due entries in Redis, with one script per shard. */
export function openSweepStore(redis: Redis, keyspace: Keyspace): SweepStore {
  const sweep = bindScript(redis, sweepShard(keyspace));
  const sweeps = new ShardSweeps({
    sweep: (shard, limit) => sweep({ shard, limit }),
    makeRoom: bindScript(redis, sweepIdle(keyspace)),
  });
  const look = bindScript(redis, inspect(keyspace));
  const record = bindScript(redis, recordWake(keyspace));
  const promote = bindScript(redis, promoteScheduled(keyspace));
  const measure = bindScript(redis, measureShard(keyspace));
  const setAside = bindScript(redis, quarantine(keyspace));
  const setRecord = bindScript(redis, quarantineRecord(keyspace));
  return {
    shards: keyspace.shards,
    quarantine: async (entry, why) => {
      const set = entry.kind === 'idle' ? 'idle' : 'ready';
      const shard = keyspace.shardOf(entry.conversation);
      return (await setAside({ entry, why })) ? { shard, set, name: memberOf(entry), why } : undefined;
    },
    quarantineRecord: (conversation, request) => setRecord({ conversation, request }),
    sweepShards: (shards, limit) => sweeps.sweep(shards, limit),
    inspectTurn: (conversation) => look({ kind: 'turn', conversation }),
    inspectPass: (conversation) => look({ kind: 'pass', conversation }),
    recordWake: async ({ kind, conversation }, wake) =>
      (kind === 'turn' || kind === 'pass') && (await record({ kind, conversation, wake })),
    promoteScheduled: (conversation, turn, wake) => promote({ conversation, turn, wake }),
    expire: bindExpire(bindScript(redis, expireBatch(keyspace))),
    measureShards: async () => joinMeasures(await hearShards(keyspace.shardNumbers().map((shard) => measure(shard)))),
  };
}

interface SweepRequest {
  readonly shard: number;
  readonly limit: number;
}

type SweepShardReply = [due: string[], setAside: string[]];

/** Sweeping that still works when Redis is full. */
function sweepIdle(keyspace: Keyspace): ScriptDefinition<number, ShardSweep> {
  return {
    file: 'sweep-idle',
    keys: (shard) => [keyspace.sweep(shard), keyspace.idle(shard)],
    args: (shard) => [SWEEP_CLAIM_MS, keyspace.shardPrefix(shard)],
    decode: (reply, shard) => decodeSweep(reply as SweepShardReply, shard),
  };
}

function sweepShard(keyspace: Keyspace): ScriptDefinition<SweepRequest, ShardSweep> {
  return {
    file: 'sweep-shard',
    keys: ({ shard }) => [
      keyspace.sweep(shard),
      keyspace.ready(shard),
      keyspace.idle(shard),
      keyspace.openPasses(shard),
      keyspace.failed(shard),
    ],
    args: ({ shard, limit }) => [limit, keyspace.shardPrefix(shard), SWEEP_CLAIM_MS],
    decode: (reply, { shard }) => decodeSweep(reply as SweepShardReply, shard),
  };
}

function decodeSweep([due, texts]: SweepShardReply, shard: number): ShardSweep {
  return { due: due.map(decodeDueEntry), setAside: [...readSetAside(texts, shard)] };
}

/** Reads triples of set, name and reason. */
function* readSetAside(texts: readonly string[], shard: number): Generator<QuarantineEntry> {
  for (let at = 0; at + 2 < texts.length; at += 3) {
    const [given, name = '', why = ''] = texts.slice(at, at + 3);
    const set = QUARANTINE_SETS.find((known) => known === given);
    if (set !== undefined) yield { shard, set, name, why };
  }
}

const KINDS: Readonly<Record<string, DueEntry['kind']>> = { t: 'turn', p: 'pass', d: 'scheduled', r: 'idle' };

/** Decodes a member of `ready` or `idle`: `t|tenant|id`, `p|tenant|id`, `d|tenant|id|turn`, `r|tenant|id`. Ids hold no `|`. */
export function decodeDueEntry(member: string): DueEntry {
  const [letter = '', tenant = '', id = '', turn] = member.split('|');
  const kind = KINDS[letter];
  if (kind === undefined) throw new Error(`entry ${member} is of no known kind`);
  return { kind, conversation: { tenant, id }, ...(turn !== undefined && { turn }) };
}

/** True for a member of `ready` that scripts write. The sweep sets others aside. */
export function isDueEntry(member: string): boolean {
  return /^(([tp]\|[\w.-]+\|[\w.-]+)|(d\|[\w.-]+\|[\w.-]+\|[\w.-]+))$/.test(member);
}

interface Inspection {
  readonly kind: 'turn' | 'pass';
  readonly conversation: ConversationRef;
}

type InspectReply = ['quiet'] | ['lapsed', string];

function inspect(keyspace: Keyspace): ScriptDefinition<Inspection, SweepDecision> {
  return {
    file: 'inspect',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ kind }) => [kind],
    decode: (reply) => {
      const answer = reply as InspectReply;
      if (answer[0] === 'quiet') return { status: 'quiet' };
      return { status: 'lapsed', ...(answer[1] !== '' && { recordedWake: answer[1] }) };
    },
  };
}

interface WakeRecord {
  readonly kind: 'turn' | 'pass';
  readonly conversation: ConversationRef;
  readonly wake: string;
}

function recordWake(keyspace: Keyspace): ScriptDefinition<WakeRecord, boolean> {
  return {
    file: 'record-wake',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ kind, wake }) => [kind, wake],
    decode: (reply) => reply === 1,
  };
}

interface Promotion {
  readonly conversation: ConversationRef;
  readonly turn: string;
  readonly wake: string;
}

export function promoteScheduled(keyspace: Keyspace): ScriptDefinition<Promotion, { readonly needsWake: boolean }> {
  return {
    file: 'promote-scheduled',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ turn, wake }) => [turn, wake],
    decode: (reply) => ({ needsWake: reply === 1 }),
  };
}

/**
 * Batches per call, about a millisecond each. A conversation with 100,000 keys has 500 batches, which would delay other
 * conversations if one call removed all.
 */
const MOST_BATCHES = 10;

interface ExpiryCall {
  readonly conversation: ConversationRef;
  readonly owner: string;
}

type ExpireReply = ['expired', number] | [Exclude<ExpireResult['status'], 'expired'>];

/** Runs a few batches. If the conversation is created again between two of them, the next batch keeps it. */
function bindExpire(run: (call: ExpiryCall) => Promise<ExpireResult>): SweepStore['expire'] {
  return async (conversation, owner) => {
    let result = await run({ conversation, owner });
    for (let batches = 1; result.status === 'more' && batches < MOST_BATCHES; batches += 1) {
      result = await run({ conversation, owner });
    }
    return result;
  };
}

export function expireBatch(keyspace: Keyspace): ScriptDefinition<ExpiryCall, ExpireResult> {
  return {
    file: 'expire',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ owner }) => [owner, ERASE_BATCH, GONE_MS],
    decode: (reply) => {
      const answer = reply as ExpireReply;
      return answer[0] === 'expired' ? { status: 'expired', removedKeys: answer[1] } : { status: answer[0] };
    },
  };
}

interface QuarantineRequest {
  readonly entry: DueEntry;
  readonly why: string;
}

function quarantine(keyspace: Keyspace): ScriptDefinition<QuarantineRequest, boolean> {
  return {
    file: 'quarantine',
    keys: ({ entry }) => {
      const shard = keyspace.shardOf(entry.conversation);
      return [entry.kind === 'idle' ? keyspace.idle(shard) : keyspace.ready(shard)];
    },
    args: ({ entry, why }) => {
      const shard = keyspace.shardOf(entry.conversation);
      return [keyspace.shardPrefix(shard), entry.kind === 'idle' ? 'idle' : 'ready', memberOf(entry), why];
    },
    decode: (reply) => reply === 1,
  };
}

function memberOf({ kind, conversation, turn = '' }: DueEntry): string {
  if (kind === 'idle') return idleMember(conversation);
  return kind === 'scheduled'
    ? scheduledMember(conversation, turn)
    : readyMember(kind === 'turn' ? 't' : 'p', conversation);
}

interface RecordRequest {
  readonly conversation: ConversationRef;
  readonly request: UnreadableRecord;
}

type SetRecordAsideReply = ['kept'] | ['set_aside', string, number];

function quarantineRecord(
  keyspace: Keyspace,
): ScriptDefinition<RecordRequest, Awaited<ReturnType<SweepStore['quarantineRecord']>>> {
  return {
    file: 'set-record-aside',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ request }) => [request.key, request.why, request.wakeTurn],
    decode: (reply, { conversation, request }) => {
      const answer = reply as SetRecordAsideReply;
      if (answer[0] === 'kept') return undefined;
      const [, why, needsWake] = answer;
      const setAside: QuarantineEntry = { shard: keyspace.shardOf(conversation), set: 'key', name: request.key, why };
      return { setAside, needsWake: needsWake === 1 };
    },
  };
}
