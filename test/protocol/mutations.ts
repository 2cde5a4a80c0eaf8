import type { TurnLease } from '../../src/domain/lease.ts';
import type { Database } from '../../src/store/embedded/database.ts';
import { readyMember } from '../../src/store/keys.ts';
import type { PassLease } from '../../src/store/pass-record.ts';
import { KEYSPACE, readConversation } from '../store/stored-conversation.ts';
import type { Faults } from './choices.ts';
import type { Mutate } from './shared.ts';
import { ref } from './world.ts';

/** A store with one defect, and a scenario in which the named invariant must notice the defect. */
export interface Mutation {
  readonly name: string;
  readonly invariant: string;
  readonly scenario: string;
  readonly faults?: Partial<Faults>;
  /** Random walks reach the defect sooner than a search in order. */
  readonly byChance?: true;
  readonly mutate: Mutate;
}

const RECORD = KEYSPACE.key(ref, 'c');
const MAILBOX = KEYSPACE.key(ref, 'mb');

function removeReady(db: Database, kind: 't' | 'p'): void {
  db.edit(KEYSPACE.ready(0), 'zset', (ready) => ready.delete(readyMember(kind, ref)));
}

function repeatLastEntry(db: Database): void {
  const log = db.make(KEYSPACE.key(ref, 'log'), 'hash');
  log.set(String(log.size + 1), log.get(String(log.size)) ?? '');
  db.make(RECORD, 'hash').set('head', String(log.size));
}

function presentTurn(db: Database, lease: TurnLease): TurnLease {
  const { epoch = 0, owner = '', mailbox = [] } = readConversation(db, ref) ?? {};
  return { ...lease, epoch, owner, turn: mailbox[0] ?? lease.turn };
}

function presentPass(db: Database, lease: PassLease): PassLease {
  const { pass } = readConversation(db, ref) ?? {};
  return { ...lease, passId: pass?.passId ?? lease.passId, owner: pass?.owner ?? lease.owner };
}

type Operation = 'accept' | 'claim' | 'requestPass' | 'lapseLeases';

/** Changes the database after each call of one operation. */
function after(operation: Operation, change: (db: Database) => unknown): Mutate {
  return (store, db) => ({
    ...store,
    [operation]: async (...args: unknown[]) => {
      const result = (await Reflect.apply(store[operation], store, args)) as unknown;
      change(db);
      return result;
    },
  });
}

/** Restores one field of the conversation after each call of one operation. */
function keeping(operation: 'claim' | 'cancel', field: 'turns' | 'epoch'): Mutate {
  return (store, db) => ({
    ...store,
    [operation]: async (...args: unknown[]) => {
      const before = db.get(RECORD, 'hash')?.get(field) ?? '0';
      const result = (await Reflect.apply(store[operation], store, args)) as unknown;
      db.get(RECORD, 'hash')?.set(field, before);
      return result;
    },
  });
}

export const MUTATIONS: readonly Mutation[] = [
  {
    name: 'without the check of the epoch',
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
    name: 'that leaves a settled turn in the mailbox',
    invariant: 'I2',
    scenario: 'two producers',
    mutate: (store, db) => ({
      ...store,
      settle: async (lease, settlement, wake) => {
        const result = await store.settle(lease, settlement, wake);
        if (result.status === 'settled') db.make(MAILBOX, 'list').unshift(lease.turn);
        return result;
      },
    }),
  },
  {
    name: 'that removes the ready entry at the claim',
    invariant: 'I3',
    scenario: 'two producers',
    mutate: after('claim', (db) => removeReady(db, 't')),
  },
  {
    name: 'without a ready entry for the first turn of a mailbox',
    invariant: 'I3',
    scenario: 'two producers',
    mutate: after('accept', (db) => db.get(MAILBOX, 'list')?.length === 1 && removeReady(db, 't')),
  },
  {
    name: 'that appends a repeated step again',
    invariant: 'I5',
    scenario: 'a call that a service answers',
    faults: { lostReplies: 1, all: 1 },
    mutate: (store, db) => ({
      ...store,
      recordStep: (lease, outcome) => {
        db.get(KEYSPACE.turn(ref, lease.turn), 'hash')?.delete(`s:${outcome.key}`);
        const { expectedHead: _, ...rest } = outcome;
        return store.recordStep(lease, rest);
      },
    }),
  },
  {
    name: 'that appends the last step of a repeated settlement again',
    invariant: 'I5',
    scenario: 'two producers',
    faults: { lostReplies: 1, all: 1 },
    mutate: (store, db) => ({
      ...store,
      settle: async (lease, settlement, wake) => {
        const result = await store.settle(lease, settlement, wake);
        if (result.status === 'known' && settlement.step !== undefined) repeatLastEntry(db);
        return result;
      },
    }),
  },
  {
    name: 'that settles a turn without its last step',
    invariant: 'I7',
    scenario: 'two producers',
    mutate: (store) => ({
      ...store,
      settle: (lease, { step: _, ...settlement }, wake) => store.settle(lease, settlement, wake),
    }),
  },
  {
    name: 'that records the last step apart from the settlement',
    invariant: 'I7',
    scenario: 'two producers',
    mutate: (store) => ({
      ...store,
      settle: async (lease, settlement, wake) => {
        const { step } = settlement;
        const recorded = step && (await store.recordStep(lease, step));
        if (recorded?.status === 'recorded') throw new Error('the reply was lost');
        return await store.settle(lease, settlement, wake);
      },
    }),
  },
  {
    name: 'that settles with the last step of a former owner',
    invariant: 'I4',
    scenario: 'two producers',
    faults: { lapses: 1, all: 1 },
    mutate: (store, db) => ({
      ...store,
      settle: (lease, settlement, wake) => store.settle(presentTurn(db, lease), settlement, wake),
    }),
  },
  {
    name: 'without the check of the epoch, if a living worker was taken for gone (I8)',
    invariant: 'I4',
    scenario: 'two producers',
    faults: { gone: 1, all: 1 },
    mutate: (store, db) => ({
      ...store,
      recordStep: (lease, outcome) => store.recordStep(presentTurn(db, lease), outcome),
      settle: (lease, settlement, wake) => store.settle(presentTurn(db, lease), settlement, wake),
    }),
  },
  {
    name: 'that removes the ready entry of a turn whose worker is gone',
    invariant: 'I3',
    scenario: 'two producers',
    faults: { gone: 1, all: 1 },
    mutate: after('lapseLeases', (db) => removeReady(db, 't')),
  },
  {
    name: 'that removes the ready entry of a pass whose worker is gone',
    invariant: 'I6',
    scenario: 'a restore and a pass',
    faults: { gone: 1, all: 1 },
    mutate: after('lapseLeases', (db) => removeReady(db, 'p')),
  },
  {
    name: 'that does not count turns in the claim script',
    invariant: 'I1',
    scenario: 'two producers',
    mutate: keeping('claim', 'turns'),
  },
  {
    name: 'that does not raise the epoch at a cancel',
    invariant: 'I4',
    scenario: 'a cancel',
    mutate: keeping('cancel', 'epoch'),
  },
  {
    name: 'without the check of the pass at a commit',
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
    name: 'without a ready entry for a pass',
    invariant: 'I6',
    scenario: 'hard pass',
    mutate: after('requestPass', (db) => removeReady(db, 'p')),
  },
  {
    name: 'that erases without checking again that the conversation is idle',
    invariant: 'I2',
    scenario: 'a turn and an expiry',
    mutate: (store) => ({
      ...store,
      expire: async (conversation) => ({ status: 'expired', ...(await store.erase(conversation)) }),
    }),
  },
];
