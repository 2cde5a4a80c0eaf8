import { answerTurn } from '../../src/client/answers.ts';
import { appendMessages } from '../../src/client/appends.ts';
import { forkConversation } from '../../src/client/forks.ts';
import type { ClientPorts } from '../../src/client/ports.ts';
import { approveProposal } from '../../src/client/proposals.ts';
import { cancelTurn, enqueueTurn } from '../../src/client/turns.ts';
import { restoreConversation } from '../../src/client/versions.ts';
import { isTurnfoldError } from '../../src/domain/errors.ts';
import { nameConversation } from '../../src/domain/ids.ts';
import type { PolicyInput } from '../../src/domain/policy.ts';
import type { Summarizer } from '../../src/domain/ports/summarizer.ts';
import { noTracing } from '../../src/domain/ports/tracing.ts';
import { isSettled } from '../../src/domain/turn.ts';
import { scriptedModel } from '../../src/models/scripted.ts';
import { requestPass } from '../../src/workers/pass-request.ts';
import { NO_TIMERS } from './clock.ts';
import { type Exploration, playOut } from './explore.ts';
import type { Mutate } from './shared.ts';
import { toText } from './snapshot.ts';
import { brief, halfDown, LONG, TOOLS, talk } from './stories.ts';
import { AGENT, ref, type Surroundings, World } from './world.ts';

const COPY = { tenant: '_', id: 'copy' };

export interface Scenario {
  readonly name: string;
  readonly surround: () => Surroundings;
  readonly before?: string;
  /** what services do first, one after the other; the search begins when nothing is left to do but to wait */
  readonly first?: readonly Client[];
  /** for how long nothing happens then, in ms */
  readonly restMs?: number;
  readonly clients: readonly Client[];
  /** of accepted turns: how each may end */
  readonly ends?: Readonly<Record<string, readonly string[]>>;
  /** what else holds at the end; throws where it does not */
  readonly checkEnd?: (world: World) => void;
  /** no turn of it is suspended: nothing in it is due as soon as it is written */
  readonly isNeverSuspended?: true;
}

type Client = (ports: ClientPorts) => Promise<unknown>;

const say = () => ({ model: scriptedModel({ decide: () => ({ content: 'said' }) }) });

const enqueue = (turn: string) => (ports: ClientPorts) =>
  enqueueTurn(ports, { conversation: ref.id, agent: AGENT, turn, input: `Input of ${turn}.` });

const evicting = () => ({
  ...say(),
  policy: { turnThreshold: 3, retentionWindow: 2, strategy: { evict: 1 }, minGain: 0 },
});

const REST_MS = 5_000;
const idle = () => ({ ...say(), policy: { conversationTtl: REST_MS } });
/** Usable 2,000: over the hard limit with the turn's own message. */
const hard = () => ({
  model: scriptedModel({ profile: { windowTokens: 2_500, outputCapTokens: 500 }, decide: () => ({ content: 'said' }) }),
  policy: { tokenThreshold: 1_800, maxTokens: 1_000, retentionWindow: 2, minSequenceTokens: 5_000 },
});

const asking = () => ({
  model: scriptedModel({
    decide: ({ messages }) =>
      messages.at(-1)?.role === 'tool' ? { content: 'said' } : { toolCalls: [{ name: 'ask', arguments: {} }] },
  }),
  tools: TOOLS,
});

/** Does it whether or not it is refused. */
const trying =
  (play: Client): Client =>
  async (ports) => {
    try {
      await play(ports);
    } catch (error) {
      if (!isTurnfoldError(error)) throw error;
    }
  };

const append = trying((ports) =>
  appendMessages(ports, {
    conversation: ref.id,
    agent: AGENT,
    operation: 'append',
    messages: [{ role: 'user', content: 'Appended.' }],
  }),
);
const bring = trying((ports) => answerTurn(ports, nameConversation(ref), 't1', { c2_0: { content: 'blue' } }));
const cancel = trying((ports) => cancelTurn(ports, nameConversation(ref), 't1'));
const compact: Client = (ports) =>
  requestPass({ ...ports, onEvent: () => undefined, tracing: noTracing }, ref, { reasons: ['token_threshold'] });
const compactAll: Client = (ports) =>
  requestPass({ ...ports, onEvent: () => undefined, tracing: noTracing }, ref, { reasons: ['manual'] });
const approve = trying(async (ports) => {
  const found = await ports.proposals.readProposal(ref);
  if (found !== undefined) await approveProposal(ports, ref.id, found.proposal.id, { operation: 'op' });
});
/** Ends the pass in progress, and makes what waits for approval stale. */
const restoreAll = trying((ports) =>
  restoreConversation(ports, ref.id, { version: 0, newer: 'keep', operation: 'restore' }),
);
const fork = trying((ports) => forkConversation(ports, ref.id, COPY.id, { operation: 'fork' }));

const summarizing =
  (summarizer: Summarizer, policy: PolicyInput = {}) =>
  () => ({
    model: scriptedModel({ profile: { windowTokens: 100_000 }, decide: () => ({ content: 'said' }) }),
    policy: { tokenThreshold: 1_000, maxTokens: 600, retentionWindow: 2, ...policy },
    summarizers: [summarizer],
  });

/** Whatever came in between: in the end it rests, and goes. That nothing went with it is looked at by `watch`. */
function checkErased({ db }: World): void {
  if (db.conversations.size > 0) throw new Error('it was not erased');
}

/** The copy is done, and shows what its original shows at that point; or it was never begun. */
function checkCopy({ db }: World): void {
  const [original, copy] = [db.find(ref), db.find(COPY)];
  if (copy?.fork === undefined) return;
  const { isOpen, plan } = copy.fork;
  if (isOpen) return;
  if (copy.log.length !== plan.head) throw new Error(`the copy has ${copy.log.length} messages, not ${plan.head}`);
  const wanted = plan.version === 0 ? [] : original?.versions.get(plan.version)?.segments;
  if (toText(copy.versions.get(1)?.segments) !== toText(wanted)) throw new Error('the copy shows something else');
  for (const segment of copy.versions.get(1)?.segments ?? []) {
    if (segment.kind === 'summary' && !copy.summaries.has(segment.text)) throw new Error('a text is missing');
  }
}

export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'one turn',
    isNeverSuspended: true,
    surround: say,
    clients: [enqueue('t1')],
    ends: { t1: ['completed'] },
  },
  {
    name: 'two producers, two turns',
    isNeverSuspended: true,
    surround: say,
    clients: [enqueue('t1'), enqueue('t2')],
    ends: { t1: ['completed'], t2: ['completed'] },
  },
  {
    name: 'two turns and a cancel',
    isNeverSuspended: true,
    surround: say,
    clients: [enqueue('t1'), enqueue('t2'), cancel],
    ends: { t1: ['completed', 'canceled'], t2: ['completed'] },
  },
  {
    name: 'a call that is answered from outside',
    surround: asking,
    clients: [enqueue('t1'), bring],
    ends: { t1: ['completed'] },
  },
  {
    name: 'a pass with two children',
    surround: summarizing(brief),
    before: LONG,
    clients: [compact],
    isNeverSuspended: true,
  },
  {
    name: 'a pass, one child of which fails',
    surround: summarizing(halfDown),
    before: LONG,
    clients: [compact],
    isNeverSuspended: true,
  },
  {
    name: 'a pass with two children and a turn',
    surround: summarizing(brief),
    before: LONG,
    clients: [compact, enqueue('t1')],
    ends: { t1: ['completed'] },
    isNeverSuspended: true,
  },
  {
    name: 'an approval and a turn',
    surround: summarizing(brief, { mode: 'review' }),
    before: LONG,
    first: [compact],
    clients: [approve, enqueue('t1')],
    ends: { t1: ['completed'] },
    isNeverSuspended: true,
  },
  {
    name: 'an approval and a restore',
    surround: summarizing(brief, { mode: 'review' }),
    before: LONG,
    first: [compact],
    clients: [approve, restoreAll],
    isNeverSuspended: true,
  },
  {
    name: 'a fork and a pass of its parent',
    surround: summarizing(brief),
    before: LONG,
    clients: [fork, compact],
    checkEnd: checkCopy,
    isNeverSuspended: true,
  },
  {
    name: 'a restore and a pass',
    surround: evicting,
    before: 'u20 a20 u20 a20 u20 a20 u20 a20',
    clients: [restoreAll, compactAll],
    isNeverSuspended: true,
  },
  {
    name: 'two turns and a soft pass',
    isNeverSuspended: true,
    surround: evicting,
    before: 'u20 a20 u20 a20',
    clients: [enqueue('t1'), enqueue('t2')],
    ends: { t1: ['completed'], t2: ['completed'] },
  },
  {
    name: 'two turns, the first of which waits for a hard pass',
    surround: hard,
    before: 'u20 a600 u20 a600 u20 a620',
    clients: [enqueue('t1'), enqueue('t2')],
    ends: { t1: ['completed'], t2: ['completed'] },
  },
  {
    name: 'a turn and an expiry',
    surround: idle,
    first: [enqueue('t1')],
    restMs: REST_MS,
    clients: [enqueue('t2'), cancel],
    checkEnd: checkErased,
    isNeverSuspended: true,
  },
  {
    name: 'an append, a pass and an expiry',
    surround: idle,
    first: [enqueue('t1')],
    restMs: REST_MS,
    clients: [append, trying(compactAll)],
    checkEnd: checkErased,
    isNeverSuspended: true,
  },
];

type Bounds = Pick<Exploration, 'faults' | 'maxSteps' | 'maxMs'>;

export function exploreScenario(scenario: Scenario, bounds: Bounds, mutate?: Mutate): Exploration {
  const { surround, before, first = [], restMs = 0, clients, isNeverSuspended = false } = scenario;
  return {
    ...bounds,
    mayBeDueAtOnce: !isNeverSuspended,
    open: async () => {
      const options = { surround, clients: [...first, ...clients], timers: NO_TIMERS, tracksReplies: true };
      const world = await World.open({ ...options, ...(mutate && { mutate }) });
      if (before !== undefined) await world.write(talk(before));
      for (const index of first.keys()) {
        world.beginClient(index);
        await playOut(world);
      }
      world.clock.moveTo(world.clock.now() + restMs);
      for (const index of clients.keys()) world.beginClient(first.length + index);
      return world;
    },
    checkEnd: (world) => {
      checkIdleTtl(world);
      checkOutcome(world, scenario.ends ?? {});
      scenario.checkEnd?.(world);
    },
  };
}

/** Nothing is left. */
function checkIdleTtl({ db, jobs }: World): void {
  const passes = [...db.conversations.values()].filter(({ pass }) => pass !== undefined);
  if (db.ready.size > 0 || jobs.all.length > 0 || passes.length > 0) throw new Error('something is left');
}

/** Every turn is settled as it may be, in the order of their acceptance. */
function checkOutcome({ db }: World, ends: Readonly<Record<string, readonly string[]>>): void {
  const { turnRecords, events } = db.find(ref) ?? {};
  if (turnRecords === undefined) return;
  for (const { turn, state, failure } of turnRecords.values()) {
    if (!isSettled(state)) throw new Error(`${turn} is ${state} for ever`);
    if (!ends[turn]?.includes(state)) throw new Error(`${turn} is ${state} (${failure?.code})`);
  }
  const settled = events?.filter(({ type, fields }) => type === 'turn_settled' && fields['state'] !== 'canceled');
  const accepted = [...turnRecords.keys()].filter((turn) => turnRecords.get(turn)?.state !== 'canceled');
  const order = settled?.map(({ fields }) => fields['turn']).join();
  if (order !== accepted.join()) throw new Error(`accepted ${accepted.join()}, settled ${order}`);
}
