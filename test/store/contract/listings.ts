import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { type ConversationRef, type NamedConversation, nameConversation } from '../../../src/domain/ids.ts';
import type { TurnLease } from '../../../src/domain/lease.ts';
import type { WaitRequest } from '../../../src/domain/turn.ts';
import type { ConversationQuery, ListedConversation, WaitingQuery, WaitingTurn } from '../../../src/store/listings.ts';
import { appendOf } from '../pass-samples.ts';
import { acceptAndClaim, bring, callsStep, claimHead, toWaitFor, turnFor } from '../samples.ts';
import type { Given } from './fixture.ts';

const DAY_MS = 86_400_000;

/** Returns a tenant that no other test uses. */
function newTenant(): string {
  return `tenant.${randomUUID()}`;
}

export function describeListings(given: Given): void {
  async function listConversations(
    query: Omit<ConversationQuery, 'limit'>,
    limit = 100,
  ): Promise<ListedConversation[]> {
    const found: ListedConversation[] = [];
    let { after } = query;
    for (;;) {
      const { items, next } = await given
        .harness()
        .store.listConversations({ ...query, limit, ...(after && { after }) });
      expect(items.length, 'a page holds what was asked for at most').toBeLessThanOrEqual(limit);
      found.push(...items);
      if (next === undefined) return found;
      after = next;
    }
  }

  async function listWaiting(query: Omit<WaitingQuery, 'limit'>, limit = 100): Promise<WaitingTurn[]> {
    const found: WaitingTurn[] = [];
    let { after } = query;
    for (;;) {
      const { items, next } = await given.harness().store.listWaiting({ ...query, limit, ...(after && { after }) });
      found.push(...items);
      if (next === undefined) return found;
      after = next;
    }
  }

  const idsOf = (found: readonly NamedConversation[]): string[] =>
    found.map(({ conversation }) => conversation).toSorted();

  test('a page of one tenant has nothing of another tenant, whatever its cursor names (I19)', async () => {
    const { store } = given.harness();
    const [first = '', second = '', third = ''] = [newTenant(), newTenant(), newTenant()].toSorted();
    const kept = { tenant: second, id: 'secret' };
    const { lease, conversation } = await acceptAndClaim(store, kept, 't1');
    await store.recordStep(lease, callsStep('model-1', conversation.head, 1));
    const calls = [{ id: 'c2_0', name: 'read', arguments: '{}', waitMs: 60_000 }];
    await store.suspend(lease, { for: 'approval', step: 'model-1', waitMs: 60_000, calls });
    // A page begins in the shard of the conversation that its cursor names. 40 names reach every shard.
    for (let id = 0; id < 40; id += 1) {
      const after = { tenant: first, id: `c${id}` };
      expect(await listConversations({ tenant: third, after })).toEqual([]);
      const position = { conversation: after, for: 'approval' as const, turn: 't1' };
      expect(await listWaiting({ tenant: third, after: position })).toEqual([]);
    }
  });

  test('listConversations lists a conversation from its first turn or message on, until an erase', async () => {
    const { store } = given.harness();
    const tenant = newTenant();
    await store.accept(turnFor({ tenant, id: 'accepted' }, 't1'));
    await store.accept(turnFor({ tenant, id: 'scheduled' }, 't1', { delayMs: DAY_MS }));
    await store.append(appendOf({ tenant, id: 'appended' }, 0, 3));
    expect(idsOf(await listConversations({ tenant }))).toEqual(['accepted', 'appended', 'scheduled']);
    await store.erase({ tenant, id: 'accepted' });
    expect(idsOf(await listConversations({ tenant }))).toEqual(['appended', 'scheduled']);
    await store.accept(turnFor({ tenant, id: 'accepted' }, 't2'));
    expect(idsOf(await listConversations({ tenant }))).toEqual(['accepted', 'appended', 'scheduled']);
  });

  test('listConversations lists a fork whose copy is still in progress with the state forking', async () => {
    const { store } = given.harness();
    const tenant = newTenant();
    await store.append(appendOf({ tenant, id: 'source' }, 0, 2));
    const plan = { source: { tenant, id: 'source' }, version: 0, head: 2 };
    await store.beginFork({ conversation: { tenant, id: 'copy' }, operation: 'op', agent: 'agent', plan });
    const copy = (await listConversations({ tenant })).find(({ conversation }) => conversation === 'copy');
    expect(copy).toMatchObject({ conversation: 'copy', agent: 'agent', isForking: true });
  });

  test('listConversations leaves out a conversation that was erased after its idle TTL', async () => {
    const { store, endIdleTtl } = given.harness();
    const conversation = { tenant: newTenant(), id: 'c' };
    const { lease, inputSeq } = await acceptAndClaim(store, conversation, 't1');
    await store.settle(lease, { state: 'completed', answerSeq: inputSeq, conversationTtl: DAY_MS }, undefined);
    expect(await listConversations({ tenant: conversation.tenant })).toHaveLength(1);
    await endIdleTtl(conversation);
    expect(await store.expire(conversation, 'owner')).toMatchObject({ status: 'expired' });
    expect(await listConversations({ tenant: conversation.tenant })).toEqual([]);
  });

  test('listConversations reports the agent, the log length, the unsettled turns and how the last turn ended', async () => {
    const { store } = given.harness();
    const conversation = { tenant: newTenant(), id: 'c' };
    const { lease, inputSeq } = await acceptAndClaim(store, conversation, 't1');
    expect(await listConversations({ tenant: conversation.tenant })).toMatchObject([
      { ...nameConversation(conversation), agent: 'agent', state: 'running', head: 1, turns: 1, mailbox: 1 },
    ]);
    await store.settle(lease, { state: 'completed', answerSeq: inputSeq }, undefined);
    const { settledAt } = (await store.readTurn(conversation, 't1')) ?? {};
    expect(await listConversations({ tenant: conversation.tenant })).toMatchObject([
      {
        ...nameConversation(conversation),
        agent: 'agent',
        state: 'idle',
        head: 1,
        turns: 1,
        mailbox: 0,
        lastTurn: { state: 'completed', settledAt },
      },
    ]);
  });

  test('listConversations shows a conversation as queued once its waiting turn has all answers, before a worker claims the turn', async () => {
    const { store } = given.harness();
    for (const kind of ['tools', 'approval'] as const) {
      const tenant = newTenant();
      const conversation = { tenant, id: kind };
      const { lease } = await acceptAndClaim(store, conversation, 't1');
      await store.recordStep(lease, callsStep('m1', 1, 1));
      const call = { id: 'c2_0', name: 'ask', arguments: '{}', waitMs: DAY_MS };
      await store.suspend(lease, { for: kind, step: 's', waitMs: DAY_MS, calls: [call] });
      expect((await listConversations({ tenant }))[0]).toMatchObject({ state: 'waiting', waitsFor: kind });
      await store.answerTurn({ conversation, turn: 't1', answers: bring(['c2_0'], kind), wake: 'w' });
      expect(await listConversations({ tenant, state: 'waiting' })).toEqual([]);
      const [listed] = await listConversations({ tenant, state: 'queued' });
      expect(listed).toMatchObject({ state: 'queued', mailbox: 1 });
      expect(listed).not.toHaveProperty('waitsFor');
    }
  });

  test('listConversations returns only conversations with the state, the agent and the part of the id that the query names', async () => {
    const { store } = given.harness();
    const tenant = newTenant();
    const named = (id: string): ConversationRef => ({ tenant, id });
    await store.accept(turnFor(named('queued'), 't1', { agent: 'other' }));
    await acceptAndClaim(store, named('running'), 't1');
    const waiting = await acceptAndClaim(store, named('waiting'), 't1');
    await store.suspend(waiting.lease, { for: 'retry', step: 's', waitMs: DAY_MS, calls: [] });
    const failed = await acceptAndClaim(store, named('failed'), 't1');
    const failure = { code: 'model_failed' as const, message: 'no' };
    await store.settle(failed.lease, { state: 'failed', failure }, undefined);
    await store.accept(turnFor(named('idle'), 't1'));
    await store.cancel(named('idle'), 't1', 'w');
    for (const state of ['queued', 'running', 'waiting', 'failed', 'idle'] as const) {
      expect(idsOf(await listConversations({ tenant, state })), state).toEqual([state]);
    }
    expect((await listConversations({ tenant, state: 'waiting' }))[0]).toMatchObject({ waitsFor: 'retry' });
    expect(idsOf(await listConversations({ tenant, agent: 'other' }))).toEqual(['queued']);
    expect(await listConversations({ tenant, agent: 'other', state: 'idle' })).toEqual([]);
    expect(idsOf(await listConversations({ tenant, idContains: 'ail' }))).toEqual(['failed']);
    expect(await listConversations({ tenant, idContains: 'f.iled' }), 'a dot is no pattern').toEqual([]);
    await store.accept(turnFor(named('failed'), 't2'));
    expect(await listConversations({ tenant, state: 'failed' }), 'a new turn has come').toEqual([]);
  });

  test('listConversations returns pages in the same order while conversations are created and erased', async () => {
    const { store } = given.harness();
    const tenant = newTenant();
    const ids = Array.from({ length: 30 }, (_, index) => `c-${index}`);
    for (const id of ids) await store.append(appendOf({ tenant, id }, 0, 1));
    const whole = await listConversations({ tenant });
    expect(idsOf(whole)).toEqual(ids.toSorted());
    expect(await listConversations({ tenant }, 7)).toEqual(whole);
    const { items, next } = await store.listConversations({ tenant, limit: 10 });
    if (next === undefined) throw new Error('30 do not fit into 10');
    // Two conversations are erased between the pages: the last one of this page, where the next page starts, and one after
    // it.
    const [gone, later] = [items.at(-1)?.conversation, whole[20]?.conversation];
    if (gone === undefined || later === undefined) throw new Error('there are 30');
    for (const id of [gone, later]) await store.erase({ tenant, id });
    await store.append(appendOf({ tenant, id: 'd-new' }, 0, 1));
    const rest = idsOf(await listConversations({ tenant, after: next }, 7));
    const expected = whole.slice(10).map(({ conversation }) => conversation);
    expect(rest.filter((id) => id !== 'd-new')).toEqual(expected.filter((id) => id !== later).toSorted());
  });

  test('listConversations lists the conversations of all tenants only if the query names no tenant', async () => {
    const { store } = given.harness();
    const tenant = newTenant();
    const like = `${tenant}.x`;
    for (const of of [tenant, like]) await store.append(appendOf({ tenant: of, id: 'c' }, 0, 1));
    expect((await listConversations({ tenant })).map(({ tenant: whose }) => whose)).toEqual([tenant]);
    const all = (await listConversations({})).map(({ tenant: whose }) => whose);
    expect(all).toEqual(expect.arrayContaining([tenant, like]));
  });

  /** Suspends a turn that made two tool calls and waits for their results. */
  async function wait(conversation: ConversationRef, change: Partial<WaitRequest> = {}): Promise<TurnLease> {
    const { store } = given.harness();
    const { lease, conversation: state } = await acceptAndClaim(store, conversation, 't1');
    await store.recordStep(lease, callsStep('model-1', state.head, 2));
    const calls = toWaitFor(['c2_0', 'c2_1']);
    await store.suspend(lease, { for: 'approval', step: 'model-1', waitMs: DAY_MS, calls, ...change });
    return lease;
  }

  test('listWaiting lists only turns that wait for tool results or approvals, with their calls', async () => {
    const { store } = given.harness();
    const tenant = newTenant();
    await wait({ tenant, id: 'approval' });
    await wait({ tenant, id: 'tools' }, { for: 'tools' });
    await wait({ tenant, id: 'retry' }, { for: 'retry', calls: [] });
    const found = await listWaiting({ tenant });
    expect(idsOf(found)).toEqual(['approval', 'tools']);
    const { waiting } = (await store.readTurn({ tenant, id: 'approval' }, 't1')) ?? {};
    expect(waiting?.calls[0]).toMatchObject({ id: 'c2_0', name: 'read', arguments: '{"lines":[]}' });
    const approval = { tenant, conversation: 'approval', turn: 't1', agent: 'agent', waiting };
    expect(await listWaiting({ tenant, for: 'approval' })).toEqual([approval]);
    expect(idsOf(await listWaiting({ tenant, for: 'tools' }))).toEqual(['tools']);
    const everywhere = await listWaiting({ for: 'approval' });
    expect(everywhere).toContainEqual(approval);
    expect(everywhere.filter(({ waiting: { for: kind } }) => kind !== 'approval')).toEqual([]);
  });

  test('listWaiting returns the waiting turns in the same order with any page size', async () => {
    const tenant = newTenant();
    const ids = Array.from({ length: 12 }, (_, index) => `w-${index}`);
    for (const [index, id] of ids.entries())
      await wait({ tenant, id }, { for: index % 3 === 0 ? 'tools' : 'approval' });
    const whole = await listWaiting({ tenant });
    expect(idsOf(whole)).toEqual(ids.toSorted());
    expect(await listWaiting({ tenant }, 5)).toEqual(whole);
    expect(await listWaiting({ tenant, for: 'tools' }, 1)).toHaveLength(4);
  });

  type End = (conversation: ConversationRef, lease: TurnLease) => Promise<unknown>;
  const ends: Record<string, End> = {
    'the last answer': async (conversation) => {
      const { store } = given.harness();
      const first = { conversation, turn: 't1', answers: bring(['c2_1'], 'approval'), wake: 'w' };
      await store.answerTurn(first);
      expect(await listWaiting({ tenant: conversation.tenant }), 'one call is still open').toHaveLength(1);
      await store.answerTurn({ ...first, answers: bring(['c2_0'], 'approval') });
    },
    'the deadline': async (conversation) => {
      await given.harness().passDeadline(conversation, 't1');
      await claimHead(given.harness().store, conversation);
    },
    'a cancel': (conversation) => given.harness().store.cancel(conversation, 't1', 'w'),
    'an erase': (conversation) => given.harness().store.erase(conversation),
    'an erase that another turn follows': async (conversation) => {
      await given.harness().store.erase(conversation);
      await given.harness().store.accept(turnFor(conversation, 't1'));
    },
    'an erase that stopped at its mark, and a new conversation': async (conversation) => {
      await given.harness().markGone(conversation);
      await given.harness().store.accept(turnFor(conversation, 't2'));
    },
    'three workers that died on it': async (conversation) => {
      await given.harness().passDeadline(conversation, 't1');
      await given.killOwners(conversation);
      expect(await given.harness().store.claim(conversation, 'o', 'w')).toMatchObject({ status: 'poison' });
    },
  };
  test.each(Object.keys(ends))('listWaiting leaves out a turn whose wait was ended by %s', async (name) => {
    const conversation = { tenant: newTenant(), id: 'c' };
    const lease = await wait(conversation);
    expect(await listWaiting({ tenant: conversation.tenant })).toHaveLength(1);
    await ends[name]?.(conversation, lease);
    expect(await listWaiting({ tenant: conversation.tenant })).toEqual([]);
  });

  test('listWaiting leaves out a turn whose answers had arrived before it was suspended', async () => {
    const { store, passDeadline } = given.harness();
    const conversation = { tenant: newTenant(), id: 'c' };
    await wait(conversation);
    const answers = bring(['c2_0'], 'approval');
    await store.answerTurn({ conversation, turn: 't1', answers, wake: 'w' });
    await passDeadline(conversation, 't1');
    const { lease } = await claimHead(store, conversation);
    const calls = toWaitFor(['c2_0']);
    await store.suspend(lease, { for: 'approval', step: 'model-1', waitMs: DAY_MS, calls });
    expect(await listWaiting({ tenant: conversation.tenant })).toEqual([]);
  });
}
