import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { NO_BACKOFF } from '../../src/domain/conversation.ts';
import type { ConversationRef } from '../../src/domain/ids.ts';
import type { TurnLease } from '../../src/domain/lease.ts';
import type { WeighedMessage } from '../../src/domain/message.ts';
import type { PassPlan } from '../../src/domain/pass-plan.ts';
import type { Proposal } from '../../src/domain/proposal.ts';
import type { Summary, Version } from '../../src/domain/version.ts';
import { START_VERSION } from '../../src/domain/version.ts';
import type { ContextStore } from '../../src/store/contexts.ts';
import type { AppendRequest } from '../../src/store/log.ts';
import type { PassEnd, VersionCommit } from '../../src/store/pass-ends.ts';
import type { ClaimedPass } from '../../src/store/pass-record.ts';
import type { PassRequest, PassStore } from '../../src/store/passes.ts';
import type { SummaryLease, SummaryStore } from '../../src/store/summaries.ts';
import type { TurnIntake, TurnStore } from '../../src/store/turns.ts';
import { acceptAndClaim, newConversation, weigh } from './samples.ts';

export function messagesOf(count: number, firstSeq = 1): WeighedMessage[] {
  return Array.from({ length: count }, (_, index) => {
    const seq = firstSeq + index;
    return weigh({ role: seq % 2 === 1 ? 'user' : 'assistant', content: `message ${seq}: "ü", [] and {}` });
  });
}

export function appendOf(conversation: ConversationRef, head: number, count: number): AppendRequest {
  return {
    conversation,
    operation: randomUUID(),
    agent: 'agent',
    expectedHead: head,
    messages: messagesOf(count, head + 1),
    opens: [],
    closes: [],
  };
}

/** Creates a conversation with `count` messages in its log. */
export async function makeConversation(store: ContextStore, count = 8): Promise<ConversationRef> {
  const conversation = newConversation();
  expect(await store.append(appendOf(conversation, 0, count))).toEqual({ status: 'appended', from: 1, to: count });
  return conversation;
}

/** Claims the pass in progress under a new owner. Requests a pass first if there is none. */
export async function claimPass(
  store: PassStore,
  conversation: ConversationRef,
  {
    reasons = ['ratio'],
    calibration,
    job = 'job',
  }: Partial<Pick<PassRequest, 'reasons' | 'calibration'>> & { readonly job?: string } = {},
): Promise<ClaimedPass> {
  await store.requestPass({ conversation, reasons, calibration, passId: randomUUID(), wake: randomUUID() });
  const claim = await store.claimPass(conversation, randomUUID(), job, randomUUID());
  if (claim.status !== 'claimed') throw new Error(`not claimed: ${claim.status}`);
  return claim.pass;
}

export function endOf(changes: Partial<PassEnd> = {}): PassEnd {
  return { outcome: { kind: 'none' }, backoff: NO_BACKOFF, wakeTurn: randomUUID(), ...changes };
}

/** Returns a summary of messages 1 to `base`, with a new key. */
export function summaryOf(base: number): { readonly key: string; readonly summary: Summary } {
  const key = `key.${randomUUID()}`;
  const text = `summary of 1…${base}: "ü", [] and {}`;
  return { key, summary: { text, covers: { from: 1, to: base }, sources: [], depth: 1, model: 'structural' } };
}

/** Returns a commit of the version after `live`, in which one summary replaces messages 1 to `base`. */
export function commitOf(live: number, base: number, changes: Partial<VersionCommit> = {}): VersionCommit {
  const { key, summary } = summaryOf(base);
  const weight = { tokens: 10, bytes: 40 };
  const version: Version = {
    ...START_VERSION,
    number: live + 1,
    parent: live,
    cause: 'pass',
    reasons: ['ratio', 'turn_end'],
    strategy: 'summarize',
    base,
    segments: [{ kind: 'summary', from: 1, to: base, version: 1, weight, summaryKey: key, depth: 1 }],
    weight,
    baseTotal: { tokens: 100, bytes: 400 },
    tokensBefore: 120,
    tokensAfter: 30,
    archived: base,
    durationMs: 7,
    model: 'structural',
  };
  const outcome = { kind: 'committed', version: version.number } as const;
  const summaries = new Map([[key, summary]]);
  const texts = { summaries, byHash: new Map([['s1', 'a system prompt']]) };
  return { ...endOf({ outcome }), expectedVersion: live, version, ...texts, keepVersions: 200, ...changes };
}

/** Proposal of a pass under review: one summary for seqs 1 to `to`. */
export function planOf(head: number, changes: Partial<PassPlan> = {}): PassPlan {
  const evict = [{ from: 1, to: 2 }];
  return {
    kind: 'evict',
    reasons: ['ratio'],
    version: 1,
    head,
    tokens: 10,
    sequences: [],
    evict,
    explained: [],
    ...changes,
  };
}

export function proposalOf(live: number, base: number, id: string = randomUUID()): Proposal {
  const { version, summaries } = commitOf(live, base);
  return { id, version, summaries: Object.fromEntries(summaries) };
}

/** Claims the text of a summary for a new job, which belongs to no existing pass unless one is given. */
export async function claimSummary(
  store: SummaryStore,
  conversation: ConversationRef,
  hash: string,
  passId: string = randomUUID(),
): Promise<SummaryLease> {
  const lease = { conversation, passId, hash, owner: randomUUID() };
  expect(await store.claimSummary(conversation, hash, lease.owner)).toEqual({ status: 'claimed' });
  return lease;
}

/** Suspends the running turn until a compaction pass, which is in progress, has ended. */
export async function waitForPass(
  store: TurnStore & TurnIntake & PassStore,
  conversation: ConversationRef,
  turn: string,
): Promise<TurnLease> {
  const { lease } = await acceptAndClaim(store, conversation, turn);
  const asked = { conversation, reasons: ['hard_limit'] as const, passId: randomUUID(), wake: randomUUID() };
  const requested = await store.requestPass(asked);
  if (requested.status !== 'requested' && requested.status !== 'joined') throw new Error(requested.status);
  const wait = { for: 'compaction', step: 'model.1', waitMs: 86_400_000, calls: [] } as const;
  const suspended = await store.suspend(lease, { ...wait, passId: requested.passId, calls: [] });
  expect(suspended).toEqual({ status: 'suspended' });
  return lease;
}
