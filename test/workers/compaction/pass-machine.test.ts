import { expect, it } from 'vitest';
import type { SettledContext } from '../../../src/compaction/settle.ts';
import type { ContextSource } from '../../../src/domain/context-source.ts';
import { type ConversationState, NO_BACKOFF } from '../../../src/domain/conversation.ts';
import { NO_WEIGHT } from '../../../src/domain/message.ts';
import type { Reason } from '../../../src/domain/pass.ts';
import type { PassPlan } from '../../../src/domain/pass-plan.ts';
import { completePolicy } from '../../../src/domain/policy.ts';
import type { Proposal } from '../../../src/domain/proposal.ts';
import { START_VERSION } from '../../../src/domain/version.ts';
import type { ClaimedPass } from '../../../src/store/pass-record.ts';
import { chooseChildJobs, isFinal, nextPassState, startPass } from '../../../src/workers/compaction/pass-machine.ts';
import type { PassSnapshot } from '../../../src/workers/compaction/pass-snapshot.ts';
import type {
  ActivePassStateName,
  ChildJobs,
  PassFacts,
  PassProgress,
  PassState,
} from '../../../src/workers/compaction/pass-states.ts';
import { Fixture, ref } from './fixture.ts';

const { agent } = await Fixture.open();

/** A conversation of 2,000 tokens without compaction so far. A soft pass is due from 1,500 tokens. */
const STATE: ConversationState = {
  agent: 'guide',
  incarnation: '1',
  head: 9,
  turns: 4,
  openCalls: [],
  size: { version: 0, weight: NO_WEIGHT, baseTotal: NO_WEIGHT, headTotal: { tokens: 2_000, bytes: 8_000 } },
  passed: { head: 0, turns: 0 },
  backoff: NO_BACKOFF,
  passId: 'p1',
};
const SMALL: ConversationState = { ...STATE, size: { ...STATE.size, headTotal: NO_WEIGHT } };

function snapshotOf(
  state = STATE,
  requested: readonly Reason[] = ['token_threshold'],
  mode: 'auto' | 'review' = 'auto',
) {
  const prepared = { ...agent, policy: completePolicy({ ...agent.policy, mode }) };
  const snapshot: PassSnapshot = { state, requested, refusedTokens: undefined, prepared };
  return snapshot;
}

const PLAN: PassPlan = {
  kind: 'summarize',
  reasons: ['token_threshold'],
  version: 0,
  head: 7,
  tokens: 2_000,
  sequences: [{ from: 2, to: 3, tokens: 608, maxTokens: 304, userTokens: 0 }],
  evict: [],
  explained: [],
};
const SETTLED: SettledContext = {
  kind: 'version',
  strategy: 'summarize',
  segments: [],
  weight: NO_WEIGHT,
  tokensBefore: 2_000,
  tokensAfter: 900,
  archived: 2,
  explained: [],
  isFloorRelaxed: false,
  isInputCut: false,
  prefix: { kept: NO_WEIGHT, cheapest: NO_WEIGHT },
  summaryKeys: [],
  steps: [],
};
const SOURCE: ContextSource = { version: START_VERSION, head: 8, entries: [], summaries: new Map() };
const PROPOSAL: Proposal = {
  id: 'proposal',
  version: { ...START_VERSION, number: 1, parent: 0, base: 6, reasons: ['token_threshold'] },
  summaries: {},
};
const CHILD = {
  child: 's-1',
  conversation: ref,
  passId: 'p1',
  sequence: { from: 2, to: 3, tokens: 608, maxTokens: 304, userTokens: 0 },
  hash: 'h',
};
const ANY: ChildJobs = { may: 'always', job: 'job' };
const NEW: ChildJobs = { may: 'for_new_plan', job: 'job' };
const NEVER: ChildJobs = { may: 'never' };

const progress: PassProgress = {
  childJobs: ANY,
  claimedReasons: ['token_threshold'],
  replans: 0,
  head: 5,
  review: undefined,
};
const approving = { proposal: PROPOSAL, verdict: { kind: 'approve', edits: {} } } as const;
const reviewing: PassProgress = { ...progress, review: approving };
const snapshot = snapshotOf();
const reasons = ['token_threshold'] as const;
const evaluated = { progress, snapshot, reasons };
const reviewed = { ...evaluated, progress: reviewing, proposal: PROPOSAL };
const settling = { ...evaluated, plan: PLAN, live: SOURCE };
const made = { ...evaluated, plan: PLAN, settled: SETTLED, source: SOURCE, texts: new Map() };
const settled = { status: 'settled', settled: SETTLED, source: SOURCE, texts: new Map() } as const;
const read = { status: 'read', snapshot } as const;
const details = { max: 1, fixed: 1, pinned: 1, open: 1, floor: 1 };
const refusal = { code: 'proposal_stale', field: 'proposal', message: '' } as const;

const at = {
  evaluate: { name: 'evaluate', progress, why: 'claimed' },
  plan: { name: 'plan', ...evaluated },
  findMissing: { name: 'find_missing', progress, plan: PLAN, conversation: STATE },
  rebase: { name: 'rebase', progress, plan: PLAN },
  settle: { name: 'settle', ...settling },
  propose: { name: 'propose', ...made },
  commit: { name: 'commit', ...made },
  fail: { name: 'fail', ...evaluated, code: 'conflict' },
  review: { name: 'review', progress: reviewing, review: approving },
  check: { name: 'check_approval', ...reviewed, edits: {} },
  commitApproved: { name: 'commit_approved', ...reviewed },
  refuse: { name: 'refuse_approval', progress, refusal },
} as const;

function replanned(why: 'reasons_added' | 'version_changed') {
  return { name: 'evaluate', why, progress: { replans: 1 } };
}

/** A transition: a state, the facts of its action, and the expected fields of the next state. */
type Row<Name extends ActivePassStateName = ActivePassStateName> = {
  [Each in Name]: readonly [string, PassState<Each>, PassFacts[Each], object];
}[Name];

const ROWS: readonly Row[] = [
  ['evaluate plans for the reasons that hold', at.evaluate, read, { name: 'plan', reasons }],
  [
    'evaluate ends if its reasons no longer hold',
    at.evaluate,
    { status: 'read', snapshot: snapshotOf(SMALL) },
    { name: 'end', reasons: [], outcome: { kind: 'no_reason' } },
  ],
  [
    'plan records a plan that has sequences to summarize',
    at.plan,
    { status: 'planned', plan: PLAN, source: SOURCE },
    { name: 'record_plan', plan: PLAN, conversation: STATE },
  ],
  ...(['evict', 'trim'] as const).map((kind): Row => {
    const plan = { ...PLAN, kind, sequences: [] };
    const title = `plan goes on to rebase with a plan of kind ${kind}, which needs no summaries`;
    return [
      title,
      at.plan,
      { status: 'planned', plan, source: SOURCE },
      { name: 'rebase', plan, progress: { ...progress, head: 7 } },
    ];
  }),
  ...(['none', 'infeasible'] as const).map(
    (kind): Row => [
      `plan ends a pass whose plan is ${kind}, and keeps the context for the shadow`,
      at.plan,
      { status: 'planned', plan: { ...PLAN, kind }, source: SOURCE },
      { name: 'end', outcome: { kind }, measured: { source: SOURCE, settled: undefined } },
    ],
  ),
  [
    'plan ends if the model is in a thinking loop',
    at.plan,
    { status: 'thinking' },
    { name: 'end', outcome: { kind: 'thinking' }, reasons },
  ],
  ['plan ends as lost if the conversation was erased', at.plan, { status: 'gone' }, { name: 'lost', why: 'gone' }],
  ...(
    [
      [ANY, 'find_missing'],
      [NEW, 'find_missing'],
      [NEVER, 'rebase'],
    ] as const
  ).map(([childJobs, name]): Row => {
    const carried = { ...progress, childJobs };
    const title = `record_plan goes on to ${name} if child jobs may be created: ${childJobs.may}`;
    return [
      title,
      { name: 'record_plan', progress: carried, plan: PLAN, conversation: STATE },
      { status: 'recorded' },
      { name, plan: PLAN, progress: { ...carried, head: 7 } },
    ];
  }),
  [
    'find_missing adds a child job for each missing summary',
    at.findMissing,
    { missing: [CHILD] },
    { name: 'park', job: 'job', children: [CHILD], sequences: 1 },
  ],
  [
    'find_missing continues at rebase if no summary is missing',
    at.findMissing,
    { missing: [] },
    { name: 'rebase', plan: PLAN },
  ],
  [
    'park gives the child jobs to the queue',
    { name: 'park', progress, job: 'job', children: [CHILD], sequences: 1 },
    { status: 'parked' },
    { name: 'parked', children: [CHILD] },
  ],
  [
    'rebase continues at settle, for the reasons of the plan and those that were added',
    at.rebase,
    { status: 'read', snapshot: snapshotOf(SMALL, ['manual']), live: SOURCE, planned: START_VERSION },
    { name: 'settle', plan: PLAN, live: SOURCE, reasons: ['token_threshold', 'manual'] },
  ],
  [
    'rebase keeps a plan whose ranges are unchanged in the live version of the context',
    at.rebase,
    { ...read, live: { ...SOURCE, version: { ...START_VERSION, number: 1 } }, planned: START_VERSION },
    { name: 'settle', plan: PLAN },
  ],
  [
    'rebase plans again if the live version covers more messages than the planned one',
    at.rebase,
    { ...read, live: { ...SOURCE, version: { ...START_VERSION, number: 1, base: 8 } }, planned: START_VERSION },
    replanned('version_changed'),
  ],
  [
    'rebase plans again if the store no longer has the version on which the plan is based',
    at.rebase,
    { ...read, live: { ...SOURCE, version: { ...START_VERSION, number: 1 } }, planned: undefined },
    replanned('version_changed'),
  ],
  [
    'settle commits a version that covers the context up to its last message',
    at.settle,
    settled,
    { name: 'commit', settled: SETTLED, source: SOURCE, progress: { head: 8 } },
  ],
  [
    'settle proposes the new version in mode review',
    { ...at.settle, snapshot: snapshotOf(STATE, reasons, 'review') },
    settled,
    { name: 'propose', settled: SETTLED },
  ],
  [
    'settle commits the new version in mode review if a reason is hard',
    { ...at.settle, snapshot: snapshotOf(STATE, reasons, 'review'), reasons: ['hard_limit'] },
    settled,
    { name: 'commit', settled: SETTLED },
  ],
  [
    'settle fails if every new version breaks a rule',
    at.settle,
    { ...settled, settled: { kind: 'refused', refusal: { codes: ['A4'], message: '' } } },
    { name: 'fail', code: 'invalid_context', reasons },
  ],
  [
    'settle ends if there is nothing to remove',
    at.settle,
    { ...settled, settled: { kind: 'none' } },
    {
      name: 'end',
      outcome: { kind: 'none' },
      sizes: { sequences: 1 },
      measured: { source: SOURCE, settled: undefined },
    },
  ],
  [
    'settle ends with its token counts if the new context is not smaller',
    at.settle,
    { ...settled, settled: { kind: 'no_gain', tokensBefore: 2_000, tokensAfter: 1_990 } },
    { name: 'end', outcome: { kind: 'no_gain' }, sizes: { sequences: 1, tokensBefore: 2_000, tokensAfter: 1_990 } },
  ],
  [
    'settle ends if the budget cannot be met',
    at.settle,
    { ...settled, settled: { kind: 'infeasible', details } },
    { name: 'end', outcome: { kind: 'infeasible' } },
  ],
  [
    'settle ends if a thinking loop of the model began since the plan',
    at.settle,
    { status: 'thinking' },
    { name: 'end', outcome: { kind: 'thinking' }, progress },
  ],
  [
    'settle plans again if another version went live meanwhile',
    at.settle,
    { status: 'version_changed' },
    replanned('version_changed'),
  ],
  [
    'propose waits for a person, and passes the proposal to the shadow policy',
    at.propose,
    { status: 'proposed' },
    { name: 'waiting', proposed: { snapshot, source: SOURCE, settled: SETTLED } },
  ],
  [
    'propose plans again if another version went live',
    at.propose,
    { status: 'version_changed', version: 1 },
    replanned('version_changed'),
  ],
  [
    'commit ends, and passes the new version to the shadow policy',
    at.commit,
    { status: 'ended' },
    { name: 'ended', outcome: 'committed', measured: { source: SOURCE, settled: SETTLED } },
  ],
  [
    'commit plans again if another version went live',
    at.commit,
    { status: 'version_changed', version: 1 },
    replanned('version_changed'),
  ],
  ['commit plans again if reasons were added', at.commit, { status: 'reasons_added' }, replanned('reasons_added')],
  ['propose plans again if reasons were added', at.propose, { status: 'reasons_added' }, replanned('reasons_added')],
  [
    'commit fails with code conflict after it has planned again five times',
    { name: 'commit', ...made, progress: { ...progress, replans: 4 } },
    { status: 'version_changed', version: 1 },
    { name: 'fail', code: 'conflict', reasons: progress.claimedReasons },
  ],
  [
    'end ends with its outcome',
    { name: 'end', ...evaluated, outcome: { kind: 'no_gain' }, sizes: {} },
    { status: 'ended' },
    { name: 'ended', outcome: 'no_gain', snapshot },
  ],
  [
    'end plans again if reasons were added',
    { name: 'end', ...evaluated, outcome: { kind: 'no_reason' }, sizes: {} },
    { status: 'reasons_added' },
    replanned('reasons_added'),
  ],
  [
    'end reads a rejected proposal again if reasons were added',
    { name: 'end', ...evaluated, progress: reviewing, outcome: { kind: 'rejected' }, sizes: {} },
    { status: 'reasons_added' },
    { name: 'review', review: approving, progress: { replans: 1 } },
  ],
  ['fail ends as failed', at.fail, { status: 'ended' }, { name: 'ended', outcome: 'failed' }],
  ['fail never plans again', at.fail, { status: 'reasons_added' }, { name: 'lost', why: 'superseded' }],
  [
    'review checks the approval of a person',
    at.review,
    read,
    { name: 'check_approval', proposal: PROPOSAL, edits: {}, reasons },
  ],
  [
    'review ends if a person rejected the proposal',
    { name: 'review', progress: reviewing, review: { proposal: PROPOSAL, verdict: { kind: 'reject' } } },
    read,
    { name: 'end', outcome: { kind: 'rejected' } },
  ],
  [
    'review ends if the proposal expired',
    { name: 'review', progress: reviewing, review: { proposal: PROPOSAL } },
    read,
    { name: 'end', outcome: { kind: 'expired' } },
  ],
  [
    'review drops the proposal if a hard reason was added',
    { name: 'review', progress: { ...reviewing, replans: 2 }, review: approving },
    { status: 'read', snapshot: snapshotOf(STATE, ['hard_limit']) },
    { name: 'evaluate', why: 'proposal_dropped', progress: { ...progress, replans: 0 } },
  ],
  [
    'review drops the proposal if another version went live',
    at.review,
    { status: 'read', snapshot: snapshotOf({ ...STATE, size: { ...STATE.size, version: 1 } }) },
    { name: 'evaluate', why: 'proposal_dropped' },
  ],
  [
    'check_approval commits the approved text',
    at.check,
    { status: 'accepted', proposal: PROPOSAL },
    { name: 'commit_approved', proposal: PROPOSAL },
  ],
  [
    'check_approval refuses an approval whose context breaks a rule',
    at.check,
    { status: 'refused', refusal },
    { name: 'refuse_approval', refusal },
  ],
  [
    'check_approval reads the proposal again if another version went live',
    at.check,
    { status: 'version_changed' },
    { name: 'review', progress: { replans: 1 } },
  ],
  [
    'check_approval ends as lost if the conversation was erased',
    at.check,
    { status: 'gone' },
    { name: 'lost', why: 'gone' },
  ],
  [
    'commit_approved ends as approved, and later messages count as not yet covered',
    at.commitApproved,
    { status: 'ended' },
    { name: 'ended', outcome: 'approved', progress: { head: 6 } },
  ],
  [
    'commit_approved reads the proposal again if reasons were added',
    at.commitApproved,
    { status: 'reasons_added' },
    { name: 'review', review: approving, progress: { replans: 1 } },
  ],
  ['refuse_approval keeps the proposal open', at.refuse, { status: 'refused' }, { name: 'waiting' }],
  [
    'refuse_approval continues at evaluate if the proposal was dropped meanwhile',
    at.refuse,
    { status: 'dropped' },
    { name: 'evaluate', why: 'proposal_dropped' },
  ],
];

/** States whose action only reads, so that it needs no lease. */
const READ_ONLY: ReadonlySet<ActivePassStateName> = new Set(['plan', 'find_missing', 'settle', 'check_approval']);

function take<Name extends ActivePassStateName>([, state, facts]: Row<Name>): PassState {
  return nextPassState(state, facts);
}

it.each(ROWS.map((row) => ({ title: row[0], row })))(
  'a compaction pass takes the expected next state: $title',
  ({ row }) => {
    expect(take(row)).toMatchObject(row[3]);
  },
);

it.each(['fenced', 'superseded', 'gone'] as const)(
  'a delivered turn job writes nothing more after the store answers that its compaction pass is %s',
  (status) => {
    const writes = ROWS.map((row) => row[1]).filter((state) => !READ_ONLY.has(state.name));
    expect(new Set(writes.map((state) => state.name)).size).toBe(11);
    // Each of these states accepts a lost pass as its facts, as `evaluate` does.
    const next = writes.map((state) => nextPassState(state as PassState<'evaluate'>, { status }));
    expect(next).toEqual(writes.map(() => ({ name: 'lost', why: status })));
  },
);

it('the state machine of a compaction pass stops only in the states ended, parked, waiting and lost', () => {
  const reached = ROWS.map((row) => take(row));
  expect([...new Set(reached.filter(isFinal).map((state) => state.name))].toSorted()).toEqual([
    'ended',
    'lost',
    'parked',
    'waiting',
  ]);
  // Each state that has an action is the first state of some row.
  const acting = new Set<string>(reached.filter((state) => !isFinal(state)).map((state) => state.name));
  expect([...acting].filter((name) => !ROWS.some(([, state]) => state.name === name))).toEqual([]);
});

const claimed: ClaimedPass = {
  lease: { conversation: ref, passId: 'p1', owner: 'me' },
  reasons: ['token_threshold'],
  attempt: 1,
  requestedAt: 0,
  conversation: STATE,
  isResumed: false,
};

it.each([
  ['evaluates a pass without a plan', claimed, ANY, 'evaluate'],
  ['looks for lost children of a recorded plan', { ...claimed, plan: PLAN }, ANY, 'find_missing'],
  ['settles a recorded plan whose children have ended', { ...claimed, plan: PLAN }, NEW, 'rebase'],
  ['settles a recorded plan for a turn that took the pass over', { ...claimed, plan: PLAN }, NEVER, 'rebase'],
  ['reviews a proposal before its plan', { ...claimed, plan: PLAN, review: approving }, ANY, 'review'],
] as const)('startPass returns the first state of a delivered compaction pass: it %s', (_, pass, childJobs, first) => {
  expect(startPass(pass, childJobs)).toMatchObject({ name: first, progress: { childJobs, replans: 0 } });
});

it.each([
  ['any plan at the first delivery', { attempt: 1, isResumed: false }, false, ANY],
  ['a new plan alone once the children of this job have ended', { attempt: 1, isResumed: true }, true, NEW],
  ['any plan if the ended children are not its own', { attempt: 1, isResumed: false }, true, ANY],
  ['no plan at the third attempt', { attempt: 3, isResumed: true }, true, NEVER],
] as const)(
  'a delivered compaction pass is allowed to add summarization jobs for %s',
  (...[, claim, haveChildrenEnded, childJobs]) => {
    expect(chooseChildJobs(claim, 'job', haveChildrenEnded)).toEqual(childJobs);
  },
);
