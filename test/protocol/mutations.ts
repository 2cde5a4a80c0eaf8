import type { PassLease } from '../../src/domain/ports/pass-store.ts';
import type { Store } from '../../src/domain/ports/store.ts';
import type { TurnLease } from '../../src/domain/ports/turn-store.ts';
import type { MemoryDatabase } from '../../src/memory-store/database.ts';
import { readyMember } from '../../src/store/keys.ts';
import type { Faults } from './choices.ts';
import { ref } from './world.ts';

/** A store that is broken in one place, what brings it out, and the invariant that must notice. */
export interface Mutation {
  readonly name: string;
  readonly invariant: string;
  readonly scenario: string;
  readonly faults: Partial<Faults>;
  /** it takes a path that a search from the first choice on comes to late */
  readonly byChance?: true;
  readonly mutate: (store: Store, db: MemoryDatabase) => Store;
}

function presentTurn(db: MemoryDatabase, lease: TurnLease): TurnLease {
  const { epoch = 0, owner = '', mailbox = [] } = db.find(ref) ?? {};
  return { ...lease, epoch, owner, turn: mailbox[0] ?? lease.turn };
}

function presentPass(db: MemoryDatabase, lease: PassLease): PassLease {
  const { pass } = db.find(ref) ?? {};
  return { ...lease, passId: pass?.passId ?? lease.passId, owner: pass?.owner ?? lease.owner };
}

export const MUTATIONS: readonly Mutation[] = [
  {
    name: 'no epoch check',
    invariant: 'I4',
    scenario: 'two producers',
    faults: { lapses: 1, all: 1 },
    mutate: (store, db) => ({
      ...store,
      recordStep: (lease, outcome) => store.recordStep(presentTurn(db, lease), outcome),
      settle: (lease, settlement, wake) => store.settle(presentTurn(db, lease), settlement, wake),
    }),
  },
  {
    name: 'pop on commit forgotten',
    invariant: 'I2',
    scenario: 'two producers',
    faults: {},
    mutate: (store, db) => ({
      ...store,
      settle: async (lease, settlement, wake) => {
        const result = await store.settle(lease, settlement, wake);
        if (result.status === 'settled') db.find(ref)?.mailbox.unshift(lease.turn);
        return result;
      },
    }),
  },
  {
    name: 'ready entry removed too early',
    invariant: 'I3',
    scenario: 'two producers',
    faults: {},
    mutate: (store, db) => ({
      ...store,
      claim: async (...args) => {
        const result = await store.claim(...args);
        db.ready.delete(readyMember('t', ref));
        return result;
      },
    }),
  },
  {
    name: 'no ready entry for the first turn of a mailbox',
    invariant: 'I3',
    scenario: 'two producers',
    faults: {},
    mutate: (store, db) => ({
      ...store,
      accept: async (request) => {
        const result = await store.accept(request);
        if (db.find(ref)?.mailbox.length === 1) db.ready.delete(readyMember('t', ref));
        return result;
      },
    }),
  },
  {
    name: 'a step that is sent again is appended again',
    invariant: 'I5',
    scenario: 'two producers',
    faults: { lostReplies: 1, all: 1 },
    mutate: (store, db) => ({
      ...store,
      recordStep: (lease, outcome) => {
        db.find(ref)?.turnRecords.get(lease.turn)?.steps.delete(outcome.key);
        const { expectedHead: _, ...rest } = outcome;
        return store.recordStep(lease, rest);
      },
    }),
  },
  {
    name: 'a count that moves in a script of its own',
    invariant: 'I1',
    scenario: 'two producers',
    faults: {},
    mutate: (store, db) => ({
      ...store,
      claim: async (...args) => {
        const before = db.find(ref)?.turns ?? 0;
        const result = await store.claim(...args);
        const conversation = db.find(ref);
        if (conversation !== undefined) conversation.turns = before;
        return result;
      },
    }),
  },
  {
    name: 'a cancel that leaves the epoch',
    invariant: 'I4',
    scenario: 'a cancel',
    faults: {},
    mutate: (store, db) => ({
      ...store,
      cancel: async (...args) => {
        const { epoch = 0 } = db.find(ref) ?? {};
        const result = await store.cancel(...args);
        const conversation = db.find(ref);
        if (conversation !== undefined) conversation.epoch = epoch;
        return result;
      },
    }),
  },
  {
    name: 'no check of the pass at its commit',
    invariant: 'I4',
    scenario: 'hard pass',
    faults: { lapses: 1, all: 1 },
    byChance: true,
    mutate: (store, db) => ({
      ...store,
      commitVersion: (lease, commit) => store.commitVersion(presentPass(db, lease), commit),
    }),
  },
  {
    name: 'a pass without a ready entry',
    invariant: 'I6',
    scenario: 'hard pass',
    faults: {},
    mutate: (store, db) => ({
      ...store,
      requestPass: async (request) => {
        const result = await store.requestPass(request);
        db.ready.delete(readyMember('p', ref));
        return result;
      },
    }),
  },
  {
    name: 'an erase that trusts what the sweep has found',
    invariant: 'I2',
    scenario: 'a turn and an expiry',
    faults: {},
    mutate: (store) => ({
      ...store,
      expire: async (conversation) => ({ status: 'expired', ...(await store.erase(conversation)) }),
    }),
  },
];
