import { expect, test } from 'vitest';
import type { ConversationRef } from '../../../src/domain/ids.ts';
import { nameOperation } from '../../../src/domain/ids.ts';
import type { Reason } from '../../../src/domain/pass.ts';
import type { ApprovalRefusal, Verdict } from '../../../src/domain/proposal.ts';
import { claimPass, commitOf, endOf, makeConversation, planOf, proposalOf, waitForPass } from '../pass-samples.ts';
import type { Given } from './fixture.ts';

const REVIEW_MS = 3_600_000;
const APPROVED: Verdict = { kind: 'approve', edits: { '1-4': 'said "better" by ü' } };
const REFUSAL: ApprovalRefusal = { code: 'invalid_input', field: 'edits', message: 'too long' };

export function describePassReview(given: Given): void {
  async function propose(reasons: readonly Reason[] = ['ratio']) {
    const { store } = given.harness();
    const conversation = await makeConversation(store, 8);
    const { lease } = await claimPass(store, conversation, { reasons });
    await store.recordPlan(lease, planOf(2));
    const proposal = proposalOf(0, 4);
    const request = { proposal, seenReasons: reasons, reviewMs: REVIEW_MS };
    expect(await store.proposeVersion(lease, request)).toEqual({ status: 'proposed' });
    return { conversation, lease, proposal, request };
  }

  const claim = (conversation: ConversationRef) => given.harness().store.claimPass(conversation, 'other', 'job2', 'tw');
  const decisionOf = (conversation: ConversationRef, proposal: string, verdict = APPROVED, operation = 'op') => ({
    conversation,
    operation,
    proposal,
    verdict,
    wake: `wake-${operation}`,
  });

  async function approve() {
    const proposed = await propose();
    const { conversation, proposal } = proposed;
    await given.harness().store.decideProposal(decisionOf(conversation, proposal.id));
    const claimed = await claim(conversation);
    if (claimed.status !== 'claimed') throw new Error(`not claimed: ${claimed.status}`);
    return { ...proposed, pass: claimed.pass };
  }

  test('a compaction pass with a proposed context version cannot be claimed until the review expires, and then the sweeper finds the pass due', async () => {
    const { store, dueIn, events } = given.harness();
    const { conversation, lease, proposal, request } = await propose();
    const waiting = await store.readProposal(conversation);
    expect(waiting).toMatchObject({ proposal, passId: lease.passId, reasons: ['ratio'], isDecided: false });
    expect((waiting?.expiresAt ?? 0) - (waiting?.proposedAt ?? 0)).toBe(REVIEW_MS);
    expect(await dueIn(conversation, 'p')).toBeGreaterThan(REVIEW_MS - 60_000);
    expect(await claim(conversation)).toEqual({ status: 'leased', untilMs: waiting?.expiresAt });
    expect(await store.inspectPass(conversation)).toEqual({ status: 'quiet' });
    expect(await store.heartbeatPass(lease)).toEqual({ status: 'fenced' });
    expect((await store.readConversation(conversation))?.size.version).toBe(0);
    expect(await store.proposeVersion(lease, request), 'sent again').toEqual({ status: 'proposed' });
    expect(await events(conversation)).toMatchObject([
      { type: 'version_proposed', passId: lease.passId, proposal: proposal.id, before: '120', after: '30' },
    ]);
  });

  test('the count of open passes leaves out a pass while a person reviews its proposal, and includes it again after the decision', async () => {
    const { store } = given.harness();
    const { conversation, proposal } = await propose();
    expect(await store.measureShards()).toMatchObject({ openPasses: 0, oldestOpenPassMs: 0 });
    await store.decideProposal(decisionOf(conversation, proposal.id));
    expect(await store.measureShards()).toMatchObject({ openPasses: 1 });
  });

  test('the count of open passes includes a compaction pass again after a hard reason to compact removed its proposal', async () => {
    const { store } = given.harness();
    const { conversation } = await propose();
    await store.requestPass({ conversation, passId: 'hard', reasons: ['hard_limit'], wake: 'w' });
    expect(await store.measureShards()).toMatchObject({ openPasses: 1 });
  });

  test('after the review of a proposal expired, a worker can claim the compaction pass, and the claim returns no decision', async () => {
    const { store, expireProposal } = given.harness();
    const { conversation, proposal } = await propose();
    await expireProposal(conversation);
    expect(await store.inspectPass(conversation)).toMatchObject({ status: 'lapsed' });
    const late = await store.decideProposal(decisionOf(conversation, proposal.id));
    expect(late).toEqual({ status: 'stale', why: 'expired' });
    expect(await claim(conversation)).toMatchObject({
      status: 'claimed',
      pass: { attempt: 1, review: { proposal } },
    });
  });

  test('proposeVersion is refused if the live version changed, if a reason to compact was added, or if another worker owns the compaction pass', async () => {
    const { store, conversation, lease } = await given.pass();
    const request = { proposal: proposalOf(1, 4), seenReasons: ['ratio'] as const, reviewMs: REVIEW_MS };
    expect(await store.proposeVersion(lease, request)).toEqual({ status: 'version_changed', version: 0 });
    const first = { ...request, proposal: proposalOf(0, 4) };
    expect(await store.proposeVersion({ ...lease, owner: 'another' }, first)).toEqual({ status: 'fenced' });
    await store.requestPass({ conversation, reasons: ['turn_end'], passId: 'p2', wake: 'w2' });
    expect(await store.proposeVersion(lease, first)).toEqual({ status: 'reasons_added' });
    expect(await store.readProposal(conversation)).toBeUndefined();
  });

  test('a proposal stays under review if a soft reason to compact is added', async () => {
    const { store } = given.harness();
    const { conversation, lease } = await propose();
    const asked = await store.requestPass({ conversation, reasons: ['turn_end'], passId: 'p2', wake: 'w2' });
    expect(asked).toEqual({ status: 'joined', passId: lease.passId, needsWake: false });
    expect(await store.readProposal(conversation)).toMatchObject({ reasons: ['ratio', 'turn_end'] });
    expect(await claim(conversation)).toMatchObject({ status: 'leased' });
  });

  test.each(['hard_limit', 'overflow', 'manual'] as const)(
    'a request with the hard reason %s removes the proposal under review, and its compaction pass can be claimed again',
    async (hard) => {
      const { store } = given.harness();
      const { conversation, lease, proposal } = await propose();
      const request = { conversation, reasons: [hard], passId: 'p2', wake: 'w2' };
      const joined = { status: 'joined', passId: lease.passId, needsWake: true };
      expect(await store.requestPass(request)).toEqual(joined);
      expect(await store.requestPass(request), 'sent again').toEqual(joined);
      expect(await store.readProposal(conversation)).toBeUndefined();
      const stale = await store.decideProposal(decisionOf(conversation, proposal.id));
      expect(stale).toEqual({ status: 'stale', why: 'unknown' });
      const claimed = await claim(conversation);
      expect(claimed).toMatchObject({ status: 'claimed', pass: { attempt: 1, reasons: ['ratio', hard] } });
      expect(claimed).not.toHaveProperty('pass.review');
      expect(claimed).not.toHaveProperty('pass.plan');
    },
  );

  test('a proposal under review is dropped when a waiting turn takes over its compaction pass', async () => {
    const { store } = given.harness();
    const { conversation } = await propose();
    const taken = await store.takeOverPass(conversation, 'turn', 'p3');
    expect(taken).toMatchObject({ status: 'claimed', pass: { attempt: 1 } });
    expect(taken).not.toHaveProperty('pass.review');
    expect(await store.readProposal(conversation)).toBeUndefined();
  });

  test('an erase removes a proposal and its decision', async () => {
    const { store } = given.harness();
    const { conversation, proposal } = await approve();
    await store.erase(conversation);
    expect(await store.readProposal(conversation)).toBeUndefined();
    expect(await store.readDecision(conversation, 'op')).toBeUndefined();
    expect(await store.decideProposal(decisionOf(conversation, proposal.id))).toEqual({ status: 'gone' });
  });

  test('decideProposal refuses the operation id of an earlier decision with another payload, before and after a worker acted', async () => {
    const { store } = given.harness();
    const { conversation, proposal } = await propose();
    const first = decisionOf(conversation, proposal.id, APPROVED, nameOperation('op', 'h1'));
    const other = decisionOf(conversation, proposal.id, { kind: 'reject' }, nameOperation('op', 'h2'));
    await store.decideProposal(first);
    expect(await store.decideProposal(other)).toEqual({ status: 'other_payload' });
    expect(await store.readDecision(conversation, first.operation)).toEqual({ status: 'pending' });
    await store.requestPass({ conversation, passId: 'hard', reasons: ['hard_limit'], wake: 'w' });
    expect(await store.decideProposal(other)).toEqual({ status: 'other_payload' });
    const answer = { status: 'superseded' };
    expect(await store.decideProposal(first)).toEqual({ status: 'concluded', answer });
    expect(await store.readDecision(conversation, first.operation)).toEqual(answer);
  });

  test('after a person’s decision on a proposal a worker can claim its compaction pass, and a repeated decision gets the same reply', async () => {
    const { store, events } = given.harness();
    const { conversation, proposal } = await propose();
    const decision = decisionOf(conversation, proposal.id);
    expect(await store.decideProposal(decision)).toEqual({ status: 'decided', needsWake: true });
    expect(await store.decideProposal(decision)).toEqual({ status: 'decided', needsWake: true });
    expect(await store.decideProposal({ ...decision, wake: 'w3' })).toEqual({ status: 'decided', needsWake: false });
    expect(await store.readProposal(conversation)).toMatchObject({ isDecided: true });
    expect(await store.readDecision(conversation, 'op')).toEqual({ status: 'pending' });
    const review = { proposal, verdict: APPROVED };
    expect(await claim(conversation)).toMatchObject({ status: 'claimed', pass: { attempt: 1, review } });
    expect((await events(conversation)).at(-1)).toEqual({
      type: 'proposal_decided',
      proposal: proposal.id,
      verdict: 'approve',
      reason: '',
    });
  });

  test('a person’s decision on an unknown or already decided proposal is refused as stale and changes nothing', async () => {
    const { store, events } = given.harness();
    const { conversation, proposal } = await propose();
    const unknown = await store.decideProposal(decisionOf(conversation, 'another'));
    expect(unknown).toEqual({ status: 'stale', why: 'unknown' });
    await store.decideProposal(decisionOf(conversation, proposal.id));
    const before = [await store.readProposal(conversation), await events(conversation)];
    const second = decisionOf(conversation, proposal.id, { kind: 'reject', reason: 'no' }, 'op2');
    expect(await store.decideProposal(second)).toEqual({ status: 'stale', why: 'decided' });
    expect([await store.readProposal(conversation), await events(conversation)]).toEqual(before);
    expect(await store.readDecision(conversation, 'op2')).toBeUndefined();
    const nowhere = { tenant: '_', id: 'nowhere' };
    expect(await store.decideProposal(decisionOf(nowhere, 'x'))).toEqual({ status: 'not_found' });
  });

  test('readers of an approval’s outcome get the new version number once that version is live', async () => {
    const { store } = given.harness();
    const { conversation, proposal, pass } = await approve();
    const { version } = proposal;
    const commit = { ...commitOf(0, 4), version, outcome: { kind: 'approved', version: 1 } as const };
    expect(await store.commitVersion(pass.lease, commit)).toEqual({ status: 'ended' });
    const answer = { status: 'approved', version: 1 };
    expect(await store.readDecision(conversation, 'op')).toEqual(answer);
    const again = await store.decideProposal(decisionOf(conversation, proposal.id));
    expect(again).toEqual({ status: 'concluded', answer });
    expect(await store.readProposal(conversation)).toBeUndefined();
  });

  test.each([
    ['rejected', 'rejected'],
    ['failed', 'superseded'],
    ['no_gain', 'superseded'],
  ] as const)(
    'if a compaction pass ends as %s, the outcome of the decision on its proposal is %s',
    async (kind, status) => {
      const { store } = given.harness();
      const { conversation, pass } = await approve();
      const outcome = kind === 'failed' ? { kind, code: 'conflict' } : { kind };
      await store.endPass(pass.lease, endOf({ outcome }));
      expect(await store.readDecision(conversation, 'op')).toEqual({ status });
    },
  );

  test('an approval that a worker cannot carry out has the outcome refused, and the review of its proposal continues', async () => {
    const { store, dueIn } = given.harness();
    const { conversation, proposal, pass } = await approve();
    expect(await store.refuseApproval(pass.lease, REFUSAL)).toEqual({ status: 'refused' });
    expect(await store.refuseApproval(pass.lease, REFUSAL), 'sent again').toEqual({ status: 'refused' });
    expect(await store.readDecision(conversation, 'op')).toEqual({ status: 'refused', refusal: REFUSAL });
    expect(await store.readProposal(conversation)).toMatchObject({ proposal, isDecided: false });
    expect(await dueIn(conversation, 'p')).toBeGreaterThan(REVIEW_MS - 60_000);
    expect(await claim(conversation)).toMatchObject({ status: 'leased' });
    for (const operation of ['op3', 'op4', 'op5']) {
      await store.decideProposal(decisionOf(conversation, proposal.id, APPROVED, operation));
      const claimed = await claim(conversation);
      expect(claimed).toMatchObject({ status: 'claimed', pass: { attempt: 1 } });
      if (claimed.status === 'claimed') await store.refuseApproval(claimed.pass.lease, REFUSAL);
    }
  });

  test('a hard reason to compact supersedes an approval that no worker has carried out yet', async () => {
    const { store } = given.harness();
    const { conversation, pass } = await approve();
    await store.requestPass({ conversation, reasons: ['hard_limit'], passId: 'p2', wake: 'w2' });
    expect(await store.readDecision(conversation, 'op')).toEqual({ status: 'superseded' });
    const commit = commitOf(0, 4, { outcome: { kind: 'approved', version: 1 }, seenReasons: ['ratio'] });
    expect(await store.commitVersion(pass.lease, commit)).toEqual({ status: 'reasons_added' });
    expect(await store.refuseApproval(pass.lease, REFUSAL)).toEqual({ status: 'dropped' });
    expect(await store.heartbeatPass(pass.lease), 'the pass is its still').toEqual({ status: 'renewed' });
  });

  test('a restore of an earlier version ends the compaction pass and supersedes the decision on its proposal', async () => {
    const { store } = given.harness();
    const { conversation, proposal } = await propose();
    await store.decideProposal(decisionOf(conversation, proposal.id));
    const { version, keepVersions, backoff, wakeTurn } = commitOf(0, 4);
    const segments = [{ kind: 'raw' as const, from: 1, to: 4, weight: { tokens: 10, bytes: 40 } }];
    const restored = await store.replaceVersion({
      conversation,
      operation: 'restore',
      expectedVersion: 0,
      expectedHead: 8,
      keepVersions,
      backoff,
      wakeTurn,
      keepsNewer: true,
      version: { ...version, cause: 'restore', segments },
    });
    expect(restored).toMatchObject({ status: 'replaced' });
    expect(await store.readDecision(conversation, 'op')).toEqual({ status: 'superseded' });
    expect(await store.readProposal(conversation)).toBeUndefined();
  });

  test('a rollback of the context version on which a proposal is based removes the proposal', async () => {
    const { store, dueIn, conversation, lease: first } = await given.pass();
    await store.commitVersion(first, commitOf(0, 2));
    const turn = await waitForPass(store, conversation, 't1');
    await store.takeOverPass(conversation, 'turn', 'taken');
    await store.endPass({ conversation, passId: 'taken', owner: 'turn' }, endOf());
    const claimed = await store.claim(conversation, 'o2', 'w');
    const { lease } = await claimPass(store, conversation);
    const request = { proposal: proposalOf(1, 4), seenReasons: ['ratio'] as const, reviewMs: REVIEW_MS };
    expect(await store.proposeVersion(lease, request)).toEqual({ status: 'proposed' });
    const { version } = commitOf(1, 2);
    const rolledBack = await store.rollBackVersion(claimed.status === 'claimed' ? claimed.turn.lease : turn, {
      expectedVersion: 1,
      shownVersion: 1,
      refusedSegments: 'hash',
      keepVersions: 200,
      version: { ...version, cause: 'rollback', segments: [] },
    });
    expect(rolledBack).toMatchObject({ status: 'rolled_back' });
    expect(await store.readProposal(conversation)).toBeUndefined();
    expect(await dueIn(conversation, 'p')).toBeLessThanOrEqual(0);
    expect(await claim(conversation)).toMatchObject({ status: 'claimed', pass: { attempt: 1 } });
  });
}
