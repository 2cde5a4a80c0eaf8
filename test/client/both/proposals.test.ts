import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ProposalView } from '../../../src/api/client/index.ts';
import { createTalker, type Fixture, openFixture, talk } from '../fixture.ts';

const WAIT_MS = 60_000;
const agent = 'talker';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([
    { ...createTalker(), policy: { mode: 'review', messageThreshold: 14, retentionWindow: 2 } },
  ]);
});
afterAll(() => fixture.close());

/** Appends messages beyond the threshold of a compaction, which a person has to approve. */
async function propose(conversation: string): Promise<ProposalView> {
  await fixture.client.append({ conversation, agent, messages: talk(8) });
  await expect.poll(() => fixture.client.proposal(conversation), { timeout: WAIT_MS }).toBeDefined();
  const proposed = await fixture.client.proposal(conversation);
  if (proposed === undefined) throw new Error('the proposal is gone');
  return proposed;
}

test('an approval with an edit creates the version with the edited text, and its repetition returns the same outcome', async () => {
  const { tenant, proposal, summaries, head } = await propose('approved');
  expect({ tenant, head }).toEqual({ tenant: '_', head: 24 });
  const edits = { [summaries[0]?.range ?? '']: 'The person asked often.' };
  const input = { edits, operation: 'mine', waitMs: WAIT_MS };
  const decision = await fixture.client.approve('approved', proposal, input);
  expect(decision).toEqual({ operation: 'mine', state: 'approved', version: 1 });
  expect(await fixture.client.approve('approved', proposal, input)).toEqual(decision);
  const { items } = await fixture.client.context('approved');
  expect(items.some(({ message }) => message.content.includes('The person asked often.'))).toBe(true);
  expect(await fixture.client.proposal('approved')).toBeUndefined();
  await expect(fixture.client.approve('approved', proposal)).rejects.toMatchObject({
    code: 'proposal_stale',
    field: 'proposal',
  });
});

test('a rejection ends the proposal and changes nothing', async () => {
  const { proposal } = await propose('rejected');
  const decision = await fixture.client.reject('rejected', proposal, { reason: 'keep it', waitMs: WAIT_MS });
  expect(decision).toMatchObject({ state: 'rejected' });
  expect(await fixture.client.proposal('rejected')).toBeUndefined();
  expect(await fixture.client.versions('rejected')).toEqual([]);
});

test('approve refuses an edit of a range without a summary, and names the field', async () => {
  const { proposal } = await propose('edited');
  await expect(fixture.client.approve('edited', proposal, { edits: { '1-1': 'x' } })).rejects.toMatchObject({
    code: 'invalid_input',
    field: 'edits.1-1',
  });
  await expect(fixture.client.approve('edited', proposal, { waitMs: -1 })).rejects.toMatchObject({
    code: 'invalid_input',
    field: 'waitMs',
  });
  await expect(fixture.client.proposal('nobody')).rejects.toMatchObject({ code: 'not_found', field: 'conversation' });
});
