import type { Redis } from 'ioredis';
import type { ConversationRef } from '../../src/domain/ids.ts';
import type { TurnLease } from '../../src/domain/lease.ts';
import type { Store } from '../../src/store/open-store.ts';
import type { PassLease } from '../../src/store/pass-record.ts';
import type { SummaryLease } from '../../src/store/summaries.ts';
import { appendOf, claimPass, claimSummary, commitOf, endOf, planOf, proposalOf } from './pass-samples.ts';
import { acceptAndClaim, bring, callsStep, claimHead, textStep, toWaitFor, turnFor } from './samples.ts';

/** A conversation that has every kind of record, with the leases of the workers that use it. */
export interface LiveConversation {
  readonly conversation: ConversationRef;
  /** Lease of the head turn. */
  readonly turn: TurnLease;
  readonly pass: PassLease;
  readonly summary: SummaryLease;
  /** Id of the tool call that the head turn has made. */
  readonly call: string;
  readonly head: number;
}

/** Number of messages at the start of the log. They are packed. */
const PACKED = 8;

/** Hash of a summary that is stored, and of one that a worker has claimed. */
const KNOWN_HASH = 'a'.repeat(16);
const CLAIMED_HASH = 'b'.repeat(16);

/**
 * Creates a conversation with versions, packed log entries, turns in five states (settled, failed, running, queued, scheduled), a claimed pass,
 * summaries and events.
 */
export async function makeLive(store: Store, conversation: ConversationRef): Promise<LiveConversation> {
  await store.append(appendOf(conversation, 0, PACKED));
  const first = await acceptAndClaim(store, conversation, 't1');
  await store.recordStep(first.lease, textStep('model.1', PACKED + 1));
  await store.settle(first.lease, { state: 'completed', answerSeq: PACKED + 2 }, 'w1');
  const second = await acceptAndClaim(store, conversation, 't2');
  await store.settle(second.lease, { state: 'failed', failure: { code: 'model_failed', message: 'm' } }, 'w2');
  const committed = await claimPass(store, conversation);
  await store.commitVersion(committed.lease, commitOf(0, PACKED));
  await store.packLog(conversation);
  const third = await acceptAndClaim(store, conversation, 't3');
  const { head } = third.conversation;
  const call = `c${head + 1}_0`;
  await store.recordStep(third.lease, { ...callsStep('model.1', head, 1), usage: { inputTokens: 5, outputTokens: 6 } });
  await store.accept(turnFor(conversation, 't4'));
  await store.accept(turnFor(conversation, 't5', { delayMs: 60_000 }));
  const { lease: pass } = await claimPass(store, conversation);
  await store.recordPlan(pass, planOf(head));
  const known = await claimSummary(store, conversation, KNOWN_HASH, pass.passId);
  await store.recordSummary(known, { status: 'refused', why: 'no' });
  const summary = await claimSummary(store, conversation, CLAIMED_HASH, pass.passId);
  return { conversation, turn: third.lease, pass, summary, call, head: head + 1 };
}

/** Like `live`, but the head turn waits for its call and the pass for a person's decision. */
export async function makeWaiting(store: Store, conversation: ConversationRef): Promise<LiveConversation> {
  const live = await makeLive(store, conversation);
  const { turn, pass, call } = live;
  await store.suspend(turn, { for: 'tools', step: 'tool.1', waitMs: 60_000, calls: toWaitFor([call, 'c99_0']) });
  await store.answerTurn({ conversation, turn: 't3', answers: bring([call]), wake: 'w3' });
  await store.proposeVersion(pass, { proposal: proposalOf(1, 4, 'prop'), seenReasons: ['ratio'], reviewMs: 60_000 });
  return live;
}

type Act = (store: Store, live: LiveConversation) => Promise<unknown>;

/** Operations of clients and workers on a conversation. */
export const ACTS: Readonly<Record<string, Act>> = {
  readConversation: (store, { conversation }) => store.readConversation(conversation),
  readContext: (store, { conversation }) => store.readContext(conversation),
  readFirstVersion: (store, { conversation }) => store.readContext(conversation, { version: 1 }),
  readLog: (store, { conversation }) => store.readLog(conversation, [{ from: 1, to: 9e15 }]),
  packLog: (store, { conversation }) => store.packLog(conversation),
  listVersions: (store, { conversation }) => store.listVersions(conversation),
  readVersion: (store, { conversation }) => store.readVersion(conversation, 1),
  readText: (store, { conversation }) => store.readText(conversation, 's1'),
  readTexts: (store, { conversation }) => store.readTexts(conversation, '0'),
  readEvents: (store, { conversation }) => store.readEvents({ conversation, limit: 100, after: '0-0' }),
  readSettled: (store, { conversation }) => store.readTurn(conversation, 't1'),
  readFailed: (store, { conversation }) => store.readTurn(conversation, 't2'),
  readHead: (store, { conversation }) => store.readTurn(conversation, 't3'),
  listOpen: (store, { conversation }) => store.listOpen(conversation, 100),
  listFailed: (store) => store.listFailed({ limit: 100, since: 0 }),
  readProposal: (store, { conversation }) => store.readProposal(conversation),
  readDecision: (store, { conversation }) => store.readDecision(conversation, 'd1'),
  readReasons: (store, { pass }) => store.readReasons(pass),
  readSummaries: (store, { conversation }) => store.readSummaries(conversation, [KNOWN_HASH, CLAIMED_HASH]),
  readPart: (store, { conversation }) => store.readPart(conversation, 'part'),
  inspectTurn: (store, { conversation }) => store.inspectTurn(conversation),
  inspectPass: (store, { conversation }) => store.inspectPass(conversation),
  recordWake: (store, { conversation }) => store.recordWake({ kind: 'turn', conversation }, 'w9'),
  promote: (store, { conversation }) => store.promoteScheduled(conversation, 't5', 'w5'),
  measure: (store) => store.measureShards(),
  accept: (store, { conversation }) => store.accept(turnFor(conversation, 't6')),
  acceptLater: (store, { conversation }) => store.accept(turnFor(conversation, 't7', { delayMs: 1_000 })),
  redrive: (store, { conversation }) => store.accept(turnFor(conversation, 't8', { redriveOf: 't2' })),
  append: (store, { conversation, head }) => store.append(appendOf(conversation, head, 1)),
  claim: (store, { conversation }) => claimHead(store, conversation).catch(unlessUnclaimed),
  heartbeat: (store, { turn }) => store.heartbeat(turn),
  startSteps: (store, { turn }) => store.startSteps(turn, ['tool.1']),
  recordStep: (store, { turn, head }) =>
    store.recordStep(turn, { ...textStep('model.2', head), usage: { inputTokens: 1, outputTokens: 1 } }),
  suspend: (store, { turn, call }) =>
    store.suspend(turn, { for: 'tools', step: 'tool.2', waitMs: 1_000, calls: toWaitFor([call]) }),
  resume: (store, { conversation, call }) =>
    store.answerTurn({ conversation, turn: 't3', answers: bring([call, 'c99_0']), wake: 'w4' }),
  complete: (store, { turn }) => store.settle(turn, { state: 'completed', answerSeq: 6 }, 'w5'),
  completeAndTake: (store, { turn }) => store.settle(turn, { state: 'completed', answerSeq: 6 }, undefined),
  fail: (store, { turn }) => store.settle(turn, { state: 'failed', failure: { code: 'poison', message: 'y' } }, 'w6'),
  cancelHead: (store, { conversation }) => store.cancel(conversation, 't3', 'w7'),
  cancelQueued: (store, { conversation }) => store.cancel(conversation, 't4', 'w8'),
  cancelScheduled: (store, { conversation }) => store.cancel(conversation, 't5', 'w9'),
  requestPass: (store, { conversation }) =>
    store.requestPass({
      conversation,
      passId: 'p9',
      wake: 'w',
      reasons: ['hard_limit'],
      refusedTokens: 5,
      calibration: 2,
    }),
  claimPass: (store, { conversation }) => store.claimPass(conversation, 'o', 'j', 'w'),
  takeOverPass: (store, { conversation }) => store.takeOverPass(conversation, 'o', 'p10'),
  heartbeatPass: (store, { pass }) => store.heartbeatPass(pass),
  recordPlan: (store, { pass, head }) => store.recordPlan(pass, planOf(head)),
  parkPass: (store, { pass }) => store.parkPass(pass, 'job', 1_000),
  endPass: (store, { pass }) => store.endPass(pass, endOf()),
  commitVersion: (store, { pass }) => store.commitVersion(pass, commitOf(1, 6)),
  dropVersions: (store, { pass }) => store.commitVersion(pass, commitOf(1, 6, { keepVersions: 1 })),
  decide: (store, { conversation }) =>
    store.decideProposal({ conversation, operation: 'd1', proposal: 'prop', verdict: { kind: 'reject' }, wake: 'w' }),
  claimKnown: (store, { conversation }) => store.claimSummary(conversation, KNOWN_HASH, 'o'),
  heartbeatSummary: (store, { conversation, summary }) =>
    store.heartbeatSummary(conversation, CLAIMED_HASH, summary.owner),
  recordSummary: (store, { summary }) => store.recordSummary(summary, { status: 'refused', why: 'no' }),
  releaseSummary: (store, { conversation, summary }) => store.releaseSummary(conversation, CLAIMED_HASH, summary.owner),
  startIdleTtl: (store, { conversation }) => store.startIdleTtl(conversation),
  replaceVersion: (store, { conversation, head }) => {
    const { version } = commitOf(1, 4);
    const replacement = { operation: 'r1', expectedVersion: 1, expectedHead: head, version, backoff: endOf().backoff };
    return store.replaceVersion({ conversation, ...replacement, keepsNewer: true, wakeTurn: 'w', keepVersions: 200 });
  },
  beginFork: (store, { conversation }) =>
    store.beginFork({
      conversation,
      operation: 'f',
      agent: 'agent',
      plan: { source: conversation, version: 1, head: 2 },
    }),
  expire: (store, { conversation }) => store.expire(conversation, 'o'),
};

/** Ignores the error of a claim that would be refused with valid records as well. */
function unlessUnclaimed(error: unknown): unknown {
  if (error instanceof Error && error.message.startsWith('not claimed')) return undefined;
  throw error;
}

/** A key and its value in Redis. */
export interface KeptKey {
  readonly dump: Buffer;
  /**
   * Text that is equal for equal values. The output of DUMP is not, because it depends on the internal order of a hash
   * table.
   */
  readonly content: string;
}

/** Reads and restores all keys of a conversation. */
export class KeptKeys {
  readonly #redis: Redis;
  readonly #pattern: string;

  constructor(redis: Redis, { id }: ConversationRef, shard: string) {
    this.#redis = redis;
    this.#pattern = `${shard}*${id}*`;
  }

  /** Reads all keys, by name. @param others names of further keys, which belong to no conversation */
  async read(...others: string[]): Promise<Map<string, KeptKey>> {
    const names = await this.list(others);
    // A key that expires meanwhile would count as a write.
    await Promise.all(names.map((name) => this.#redis.persist(name)));
    const kept = await Promise.all(names.map((name) => this.#readKey(name)));
    return new Map(names.flatMap((name, at) => (kept[at] ? [[name, kept[at]] as const] : [])));
  }

  async list(others: readonly string[] = []): Promise<string[]> {
    const names: string[] = [...others];
    for await (const page of this.#redis.scanStream({ match: this.#pattern, count: 10_000 })) {
      names.push(...(page as string[]));
    }
    return names.toSorted();
  }

  /** Writes back the keys that were read, and removes keys that were created since. */
  async restore(kept: ReadonlyMap<string, KeptKey>): Promise<void> {
    const added = (await this.list()).filter((name) => !kept.has(name));
    await Promise.all([
      ...added.map((name) => this.#redis.unlink(name)),
      ...[...kept].map(([name, { dump }]) => this.#redis.restore(name, 0, dump, 'REPLACE')),
    ]);
  }

  async #readKey(name: string): Promise<KeptKey | undefined> {
    const [dump, content] = await Promise.all([this.#redis.dumpBuffer(name), this.#readContent(name)]);
    return dump === null ? undefined : { dump, content };
  }

  async #readContent(name: string): Promise<string> {
    const type = await this.#redis.type(name);
    switch (type) {
      case 'hash':
        return JSON.stringify(Object.entries(await this.#redis.hgetall(name)).toSorted(([a], [b]) => (a < b ? -1 : 1)));
      case 'list':
        return JSON.stringify(await this.#redis.lrange(name, 0, -1));
      case 'set':
        return JSON.stringify((await this.#redis.smembers(name)).toSorted());
      case 'stream':
        return JSON.stringify(await this.#redis.xrange(name, '-', '+'));
      case 'zset':
        return JSON.stringify(await this.#redis.zrange(name, 0, '-1', 'WITHSCORES'));
      default:
        return String(await this.#redis.get(name));
    }
  }
}
