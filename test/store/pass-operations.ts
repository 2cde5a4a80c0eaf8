import * as fc from 'fast-check';
import type { ConversationRef } from '../../src/domain/ids.ts';
import type { TurnLease } from '../../src/domain/lease.ts';
import type { PassLease } from '../../src/store/pass-record.ts';
import type { PassClaimResult } from '../../src/store/passes.ts';
import { checkSame } from './observation.ts';
import { appendOf, commitOf, endOf, planOf, proposalOf } from './pass-samples.ts';
import { turnFor } from './samples.ts';
import type { StoreHarness } from './store-harness.ts';

const WORKERS = ['A', 'B'] as const;
const KEY = 'key.of.all';
const FAR_MS = 86_400_000;

/** A store and two workers on one conversation, each with a possibly outdated view of it. */
export interface Side {
  readonly harness: StoreHarness;
  readonly conversation: ConversationRef;
  readonly passes: Partial<Record<(typeof WORKERS)[number], PassLease>>;
  turn?: TurnLease;
  /** Ids of the proposals, the newest last. */
  readonly proposals: string[];
  /** Counts operations. It is equal for both stores, so that generated ids are equal too. */
  count: number;
}

type Perform = (side: Side, id: string) => Promise<unknown>;

/** Runs an operation on both stores. Replies and records must be equal, also if it is repeated. */
class Operation implements fc.AsyncCommand<Side, Side> {
  readonly name: string;
  readonly perform: Perform;

  constructor(name: string, perform: Perform) {
    this.name = name;
    this.perform = perform;
  }

  check(): boolean {
    return true;
  }

  async run(memory: Side, redis: Side): Promise<void> {
    const expected = await this.#runOn(memory);
    checkSame(await this.#runOn(redis), expected, 'Redis answers and holds what the fake does');
  }

  async #runOn(side: Side): Promise<unknown> {
    side.count += 1;
    const reply = normalize(await this.perform(side, `id-${side.count}`));
    const seen = await look(side);
    const again = normalize(await this.perform(side, `id-${side.count}`));
    checkSame(again, asKnown(reply), 'I5: sent again, the same answer');
    checkSame(await look(side), seen, 'I5: and no change');
    return { reply, seen };
  }

  toString(): string {
    return this.name;
  }
}

/** Reads everything about a conversation, and checks the invariants that stored records can show. */
async function look({ harness, conversation, count }: Side): Promise<unknown> {
  const { store, dueIn, events } = harness;
  const state = await store.readConversation(conversation);
  const hasEntry = (await dueIn(conversation, 'p')) !== undefined;
  checkSame(hasEntry, state?.passId !== undefined, 'I6: an unended pass has its entry');
  const context = await store.readContext(conversation);
  checkSame(context?.version.number, state?.size.version, 'the live version can be read');
  const log = await store.readLog(conversation, [{ from: 1, to: 1_000 }]);
  const versions = await store.listVersions(conversation);
  const turn = await store.readTurn(conversation, 't1');
  const proposal = await store.readProposal(conversation);
  const decisions = await Promise.all(
    Array.from({ length: count }, (_, index) => store.readDecision(conversation, `d-id-${index + 1}`)),
  );
  return normalize({ state, context, log, versions, turn, proposal, decisions, events: await events(conversation) });
}

/** Removes times and incarnations, which differ between the stores, and sorts object keys for the comparison. */
function normalize(value: unknown): unknown {
  const text = JSON.stringify(value ?? null, (name, part: unknown) => {
    if (typeof part === 'number' && part > 1e12) return '<time>';
    if (name === 'incarnation' || (name === 'until' && typeof part === 'string')) return '<time>';
    if (name === 'openCalls') return (part as { id: string }[]).toSorted((a, b) => a.id.localeCompare(b.id));
    return part instanceof Map ? (Object.fromEntries(part) as unknown) : part;
  });
  return JSON.parse(text) as unknown;
}

function asKnown(reply: unknown): unknown {
  return JSON.parse(JSON.stringify(reply).replaceAll('"appended"', '"known"')) as unknown;
}

function learn(side: Side, worker: (typeof WORKERS)[number], claim: PassClaimResult): PassClaimResult {
  if (claim.status === 'claimed') side.passes[worker] = claim.pass.lease;
  return claim;
}

/** Runs an operation on both stores. Replies and records must be equal, also if it is repeated. */
function leased(name: string, perform: (side: Side, lease: PassLease, id: string) => Promise<unknown>) {
  return fc.constantFrom(...WORKERS).map(
    (worker) =>
      new Operation(`${worker} ${name}`, async (side, id) => {
        const lease = side.passes[worker];
        return lease && perform(side, lease, id);
      }),
  );
}

async function readHead({ harness, conversation }: Side): Promise<number> {
  return (await harness.store.readConversation(conversation))?.head ?? 0;
}

const operation = fc.oneof(
  fc
    .subarray(['ratio', 'turn_end', 'manual'] as const)
    .map(
      (reasons) =>
        new Operation(`request ${reasons.join()}`, ({ harness, conversation }, id) =>
          harness.store.requestPass({ conversation, reasons, passId: `pass-${id}`, wake: `wake-${id}` }),
        ),
    ),
  fc
    .tuple(fc.constantFrom(...WORKERS), fc.constantFrom('job1', 'job2'))
    .map(
      ([worker, job]) =>
        new Operation(`${worker} claims as ${job}`, async (side, id) =>
          learn(side, worker, await side.harness.store.claimPass(side.conversation, `o-${id}`, job, `turn-wake-${id}`)),
        ),
    ),
  fc
    .constantFrom(...WORKERS)
    .map(
      (worker) =>
        new Operation(`${worker} takes over`, async (side, id) =>
          learn(side, worker, await side.harness.store.takeOverPass(side.conversation, `o-${id}`, `taken-${id}`)),
        ),
    ),
  leased('heartbeats', ({ harness }, lease) => harness.store.heartbeatPass(lease)),
  leased('reads reasons', ({ harness }, lease) => harness.store.readReasons(lease)),
  leased('plans', ({ harness }, lease, id) => harness.store.recordPlan(lease, planOf(2, { explained: [id] }))),
  leased('hands back', ({ harness }, lease) => harness.store.releasePass(lease)),
  leased('parks', ({ harness }, lease) => harness.store.parkPass(lease, 'job1', FAR_MS)),
  leased('ends', ({ harness }, lease, id) =>
    harness.store.endPass(lease, endOf({ outcome: { kind: 'no_gain' }, wakeTurn: `turn-wake-${id}` })),
  ),
  fc.tuple(fc.constantFrom(...WORKERS), fc.integer({ min: 0, max: 3 })).map(
    ([worker, live]) =>
      new Operation(`${worker} commits over ${live}`, async (side, id) => {
        const { harness, passes } = side;
        const lease = passes[worker];
        const base = Math.min(2, await readHead(side));
        const { version, ...commit } = commitOf(live, base, { wakeTurn: `turn-wake-${id}`, keepVersions: 2 });
        const summaries = new Map([...commit.summaries.values()].map((summary) => [KEY, summary]));
        const segments = version.segments.map((segment) => ({ ...segment, summaryKey: KEY }));
        return lease && harness.store.commitVersion(lease, { ...commit, summaries, version: { ...version, segments } });
      }),
  ),
  fc.tuple(fc.constantFrom(...WORKERS), fc.integer({ min: 0, max: 2 })).map(
    ([worker, live]) =>
      new Operation(`${worker} proposes over ${live}`, async (side, id) => {
        const { harness, passes } = side;
        const lease = passes[worker];
        const { version } = proposalOf(live, Math.min(2, await readHead(side)));
        const segments = version.segments.map((segment) => ({ ...segment, summaryKey: KEY }));
        const proposal = { id: `proposal-${id}`, version: { ...version, segments }, summaries: {} };
        side.proposals.push(proposal.id);
        if (lease === undefined) return undefined;
        const current = await harness.store.readReasons(lease);
        const seenReasons = current.status === 'current' ? current.reasons : [];
        return await harness.store.proposeVersion(lease, { proposal, seenReasons, reviewMs: FAR_MS });
      }),
  ),
  fc.tuple(fc.boolean(), fc.nat({ max: 2 })).map(
    ([isApproval, back]) =>
      new Operation(`decides to ${isApproval ? 'approve' : 'reject'}`, ({ harness, conversation, proposals }, id) => {
        const verdict = isApproval ? { kind: 'approve' as const, edits: {} } : { kind: 'reject' as const };
        const proposal = proposals.at(-1 - back) ?? 'none';
        return harness.store.decideProposal({
          conversation,
          operation: `d-${id}`,
          proposal,
          verdict,
          wake: `wake-${id}`,
        });
      }),
  ),
  leased('refuses an approval', ({ harness }, lease) =>
    harness.store.refuseApproval(lease, { code: 'invalid_input', field: 'edits', message: 'no' }),
  ),
  leased('ends as rejected', ({ harness }, lease, id) =>
    harness.store.endPass(lease, endOf({ outcome: { kind: 'rejected' }, wakeTurn: `turn-wake-${id}` })),
  ),
  fc.constant(
    new Operation('nobody decides in time', ({ harness, conversation }) => harness.expireProposal(conversation)),
  ),
  fc.constant(
    new Operation('append', async (side, id) => {
      const request = { ...appendOf(side.conversation, await readHead(side), 2), operation: `operation-${id}` };
      return side.harness.store.append(request);
    }),
  ),
  fc.constant(
    new Operation('a turn comes and waits', async (side, id) => {
      const { harness, conversation } = side;
      await harness.store.accept(turnFor(conversation, 't1'));
      const claim = await harness.store.claim(conversation, `o-${id}`, `w-${id}`);
      if (claim.status !== 'claimed') return undefined;
      side.turn = claim.turn.lease;
      const { passId } = (await harness.store.readConversation(conversation)) ?? {};
      const wait = { for: 'compaction' as const, step: 's', waitMs: FAR_MS, calls: [], passId };
      await harness.store.suspend(side.turn, wait);
    }),
  ),
  fc.constant(new Operation('silence', async ({ harness, conversation }) => harness.lapseLease('pass', conversation))),
  fc.constant(new Operation('children take too long', ({ harness, conversation }) => harness.endParking(conversation))),
  fc.constant(new Operation('sweeper looks', ({ harness, conversation }) => harness.store.inspectPass(conversation))),
  fc.constant(
    new Operation('sweeper wakes', ({ harness, conversation }, id) =>
      harness.store.recordWake({ kind: 'pass', conversation }, `wake-${id}`),
    ),
  ),
  fc.constant(
    new Operation('log is packed', async ({ harness, conversation }) => {
      await harness.rest(conversation);
      await harness.store.packLog(conversation);
    }),
  ),
  fc.constant(new Operation('erase', ({ harness, conversation }) => harness.store.erase(conversation))),
);

export const operations = fc.commands([operation], { maxCommands: 40, size: 'max' });
