import { afterAll, describe, expect, it } from 'vitest';
import type { ProposalView } from '../../src/api/client/index.ts';
import type { Agent } from '../../src/domain/agent.ts';
import type { ModelRequest } from '../../src/domain/model.ts';
import type { PolicyInput } from '../../src/domain/policy.ts';
import { runTurnfold, writeTemporary } from '../cli/run-turnfold.ts';
import { agentOf, words } from './agents.ts';
import { eventsOf, eventually, openFixture, SHARDS, settled } from './fixture.ts';

const WAIT_MS = 20_000;

const fixture = await openFixture();
afterAll(() => fixture.close());

/** An agent under review that answers with a few words and keeps its requests. */
function reviewedAgent(asked: ModelRequest[] = [], policy: PolicyInput = {}): Agent {
  return agentOf({
    decide: (request) => {
      asked.push(request);
      return { content: words(20) };
    },
    policy: { mode: 'review', messageThreshold: 14, retentionWindow: 2, ...policy },
  });
}

async function untilProposed(conversation: string): Promise<ProposalView> {
  const found = await eventually(
    () => fixture.client.proposal(conversation),
    (proposal) => expect(proposal).toBeDefined(),
  );
  if (found === undefined) throw new Error('nothing was proposed');
  return found;
}

async function takeTurn(conversation: string, turn: string, input = words(10)): Promise<void> {
  await fixture.enqueue(conversation, turn, input);
  expect(await settled(fixture, conversation, turn)).toMatchObject({ state: 'completed' });
}

describe('a pass under review', () => {
  it('turns continue while a compaction waits for approval, and the next request has the approved edit', async () => {
    const asked: ModelRequest[] = [];
    await fixture.useWorkers(reviewedAgent(asked));
    await fixture.appendSequences('r1');
    const proposed = await untilProposed('r1');
    expect(proposed).toMatchObject({ over: 0, head: 14, strategy: 'summarize', reasons: ['message_threshold'] });
    expect(proposed.summaries.map(({ range }) => range)).toEqual(['2-3', '5-6', '8-9', '11-12']);
    await takeTurn('r1', 't1');
    expect(asked.at(-1)?.messages.some(({ role }) => role === 'summary')).toBe(false);
    expect(await fixture.client.versions('r1')).toEqual([]);

    const edits = { '5-6': 'The customer is 4711 and pays in francs.' };
    const decision = await fixture.client.approve('r1', proposed.proposal, {
      edits,
      waitMs: WAIT_MS,
      operation: 'mine',
    });
    expect(decision).toEqual({ operation: 'mine', state: 'approved', version: 1 });
    const again = await fixture.client.approve('r1', proposed.proposal, { edits, operation: 'mine' });
    expect(again).toEqual(decision);
    await takeTurn('r1', 't2');
    const texts = asked.at(-1)?.messages.map(({ content }) => content) ?? [];
    expect(texts.filter((text) => text.includes('4711 and pays in francs'))).toHaveLength(1);
    for (const { range, text } of proposed.summaries) {
      expect(
        texts.some((sent) => sent.includes(text)),
        range,
      ).toBe(range !== '5-6');
    }
    expect(await fixture.client.log('r1')).toHaveLength(18);
    await expect(fixture.client.approve('r1', proposed.proposal)).rejects.toMatchObject({
      code: 'proposal_stale',
      field: 'proposal',
    });
  });

  it('a rejected compaction pass ends, and the same content is not proposed again', async () => {
    const running = await fixture.useWorkers(reviewedAgent([], { turnThreshold: 1 }));
    await fixture.appendSequences('r2');
    const { proposal } = await untilProposed('r2');
    const decision = await fixture.client.reject('r2', proposal, { reason: 'keep it', waitMs: WAIT_MS });
    expect(decision).toMatchObject({ state: 'rejected' });
    expect(await fixture.client.proposal('r2')).toBeUndefined();
    await eventually(
      () => eventsOf(running, 'pass_ended', 'r2'),
      (ended) => expect(ended.at(-1)).toMatchObject({ outcome: 'rejected' }),
    );
    await takeTurn('r2', 't1');
    await takeTurn('r2', 't2');
    expect((await fixture.client.describe('r2')).passId).toBeUndefined();
    expect(await fixture.client.versions('r2')).toEqual([]);
  });

  it('a compaction at the hard limit supersedes a proposed compaction, and a late approval fails as proposal_stale', async () => {
    await fixture.useWorkers(reviewedAgent([], { maxTokens: 1_500 }));
    await fixture.appendSequences('r3');
    const { proposal } = await untilProposed('r3');
    const passId = await fixture.client.compact('r3');
    await fixture.untilCompacted('r3');
    const [version] = await fixture.client.versions('r3');
    expect(version?.reasons).toContain('manual');
    expect(passId).toBeTypeOf('string');
    const late = fixture.client.approve('r3', proposal, { waitMs: WAIT_MS });
    await expect(late).rejects.toMatchObject({ code: 'proposal_stale', field: 'proposal' });
  });

  it('a proposed compaction that waits for approval does not block a turn that must be compacted to fit', async () => {
    const profile = { windowTokens: 4_000, outputCapTokens: 500 };
    const agent = reviewedAgent([], { thresholdRatio: 0.91 });
    const { model } = agentOf({ profile, decide: () => ({ content: 'done' }) });
    const running = await fixture.useWorkers({ ...agent, model });
    await fixture.appendSequences('r4');
    await untilProposed('r4');
    await takeTurn('r4', 't1', words(900));
    expect(await fixture.client.versions('r4')).toMatchObject([{ number: 1, cause: 'pass' }]);
    await eventually(
      () => eventsOf(running, 'pass_ended', 'r4'),
      (ended) => expect(ended).toMatchObject([{ outcome: 'committed' }]),
    );
  });

  it('a restore supersedes a proposed compaction, and a late approval fails without effect', async () => {
    await fixture.useWorkers(reviewedAgent());
    await fixture.appendSequences('r5');
    const { proposal } = await untilProposed('r5');
    await fixture.client.restore('r5', { version: 0, newer: 'keep' });
    const before = await fixture.client.versions('r5');
    const late = fixture.client.approve('r5', proposal);
    await expect(late).rejects.toMatchObject({ code: 'proposal_stale' });
    expect(await fixture.client.versions('r5')).toEqual(before);
  });

  it('a proposed compaction without a decision expires when the sweeper finds it overdue', async () => {
    const running = await fixture.useWorkers(reviewedAgent([], { reviewTtl: 1_500 }));
    await fixture.appendSequences('r6');
    await eventually(
      () => eventsOf(running, 'pass_proposed', 'r6'),
      (proposed) => expect(proposed).toHaveLength(1),
    );
    await eventually(
      () => eventsOf(running, 'pass_ended', 'r6'),
      (ended) => expect(ended).toMatchObject([{ outcome: 'expired' }]),
    );
    expect(await fixture.client.proposal('r6')).toBeUndefined();
    expect(await fixture.client.versions('r6')).toEqual([]);
  });

  it('a proposed compaction keeps waiting if turnfold refuses an edit of the proposal, and the error names the field', async () => {
    await fixture.useWorkers(reviewedAgent());
    await fixture.appendSequences('r7');
    const { proposal } = await untilProposed('r7');
    const attempts = [
      [{ '2-4': 'text' }, 'edits.2-4'],
      [{ '2-3': ' ' }, 'edits.2-3'],
      [{ '2-3': words(5_000) }, 'edits'],
    ] as const;
    for (const [edits, field] of attempts) {
      const approval = fixture.client.approve('r7', proposal, { edits, waitMs: WAIT_MS });
      await expect(approval).rejects.toMatchObject({ code: 'invalid_input', field });
    }
    expect(await fixture.client.proposal('r7')).toMatchObject({ proposal, isDecided: false });
  });
});

describe('the command line', () => {
  const turnfold = (...args: string[]) =>
    runTurnfold(args, { env: { REDIS_URL: fixture.redisUrl, TURNFOLD_SHARDS: String(SHARDS) } });

  it('the command line shows a proposal, approves it with edits from a file, and rejects another proposal', async () => {
    await fixture.useWorkers(reviewedAgent());
    await fixture.appendSequences('c1');
    const { proposal, tokensBefore, tokensAfter } = await untilProposed('c1');
    const shown = await turnfold('proposal', 'c1');
    expect(shown).toMatchObject({ code: 0, stderr: '' });
    expect(shown.stdout).toContain(`proposal ${proposal} over version 0, up to message 14`);
    expect(shown.stdout).toContain(`${tokensBefore} → ${tokensAfter} tokens`);
    expect(shown.stdout).toMatch(/\n5-6 {2}summary, \d+ tokens, structural\n/);
    expect(JSON.parse((await turnfold('proposal', 'c1', '--json')).stdout)).toMatchObject({ proposal });

    const other = await turnfold('approve', 'c1', '--proposal', 'another');
    expect(other).toMatchObject({ code: 1, stdout: '' });
    expect(other.stderr).toMatch(/^turnfold: proposal_stale: --proposal: another: /);
    const wrong = await writeTemporary('edits.yaml', '2-4: text');
    expect((await turnfold('approve', 'c1', '--edits', wrong)).stderr).toContain(
      `invalid_input: ${wrong}: 2-4: no summary of the proposal has this range`,
    );
    const edits = await writeTemporary('edits.yaml', '2-3: |\n  written by a person\n');
    const approved = await turnfold('approve', 'c1', '--edits', edits);
    expect(approved).toEqual({ code: 0, stdout: 'c1  approved, version 1\n', stderr: '' });
    expect((await turnfold('show', 'c1')).stdout).toContain('written by a person');
    expect((await turnfold('proposal', 'c1')).stdout).toBe('c1  no proposal waits for approval\n');

    await fixture.appendSequences('c2');
    await untilProposed('c2');
    const rejected = await turnfold('reject', 'c2', '--reason', 'too short');
    expect(rejected).toEqual({ code: 0, stdout: 'c2  rejected\n', stderr: '' });
    expect((await turnfold('reject', 'c2')).stderr).toMatch(/^turnfold: not_found: conversation: no proposal waits /);
  });
});
