import { isSettled } from '../../src/domain/turn.ts';
import { scriptedModel } from '../../src/providers/scripted.ts';
import { listConversations, readConversation, readDueTimes } from '../store/stored-conversation.ts';
import {
  answer,
  append,
  approve,
  attempt,
  type Client,
  cancel,
  compact,
  enqueue,
  fork,
  restoreAll,
  talk,
} from './clients.ts';
import { NO_TIMERS } from './clock.ts';
import { type Exploration, playOut } from './explore.ts';
import type { Mutate } from './shared.ts';
import { textOfDatabase, toText } from './snapshot.ts';
import { brief, halfDown, LONG, SMALL, say, summarizing, TOOLS } from './surroundings.ts';
import { ref, type Surroundings, World } from './world.ts';

const COPY = { tenant: '_', id: 'copy' };

export interface Scenario {
  readonly name: string;
  readonly surround: () => Surroundings;
  readonly before?: string;
  /** Clients that run one after the other before the search begins. */
  readonly first?: readonly Client[];
  /** Idle time between `first` and the search, in ms. */
  readonly restMs?: number;
  /** Clients that run at the same time. */
  readonly clients: readonly Client[];
  /** Allowed final states of each accepted turn. */
  readonly ends?: Readonly<Record<string, readonly string[]>>;
  /** Throws if the final state breaks a promise of this scenario. */
  readonly checkEnd?: (world: World) => void;
}

const model = scriptedModel({ decide: say });
const plain = () => ({ model });
const evicting = () => ({
  model,
  policy: { turnThreshold: 3, retentionWindow: 2, strategy: { evict: 1 }, minGain: 0 },
});
const REST_MS = 5_000;
const idle = () => ({ model, policy: { conversationTtl: REST_MS } });
/** The first turn's own message exceeds the hard limit. */
const hard = () => ({
  model: scriptedModel({ profile: SMALL, decide: say }),
  policy: { tokenThreshold: 1_800, maxTokens: 1_000, retentionWindow: 2, minSequenceTokens: 5_000 },
});
const asking = () => ({
  model: scriptedModel({
    decide: ({ messages }) =>
      messages.at(-1)?.role === 'tool' ? { content: 'said' } : { toolCalls: [{ name: 'ask', arguments: {} }] },
  }),
  tools: TOOLS,
});

const ASK_OWN = { name: 'ask', parameters: { type: 'object', properties: {} } };

/** A turn that brings the tool `ask` calls it, and any other turn must not see it. */
const bringing = () => ({
  model: scriptedModel({
    decide: ({ messages, tools, idempotencyKey }) => {
      const isBrought = tools.some(({ name }) => name === ASK_OWN.name);
      if (isBrought !== idempotencyKey.includes('/t1/')) return new Error(`tools: ${tools.length}`);
      const isAnswered = !isBrought || messages.at(-1)?.role === 'tool';
      return isAnswered ? { content: 'said' } : { toolCalls: [{ name: ASK_OWN.name, arguments: {} }] };
    },
  }),
});

/** As `hard`, but the model refuses a request without the instructions that each turn brings. */
const instructed = () => ({
  ...hard(),
  model: scriptedModel({
    profile: SMALL,
    decide: (request) => (request.system.endsWith('Be brief.') ? say(request) : new Error('no instructions')),
  }),
});

/** Nothing that a turn brought stays behind. */
function checkNothingBrought({ db }: World): void {
  if (textOfDatabase(db).includes('Be brief.')) throw new Error('instructions of a settled turn are still stored');
}

/** Turn t1 calls a tool that runs in the worker, and so takes two model steps. */
const reading = () => ({
  model: scriptedModel({
    decide: ({ messages, idempotencyKey }) =>
      idempotencyKey.includes('/t1/') && !messages.some(({ role }) => role === 'tool')
        ? { toolCalls: [{ name: 'read', arguments: {} }] }
        : { content: 'said' },
  }),
  tools: TOOLS,
});

/** Each turn's message is in the log once. A turn that steered another one has its answer. */
function checkSteered({ db }: World): void {
  const { log = [], turnRecords } = readConversation(db, ref) ?? {};
  for (const { turn, steeredInto, answerSeq } of turnRecords?.values() ?? []) {
    const inputs = log.filter((entry) => entry.turn === turn && entry.message.role === 'user');
    if (inputs.length !== 1) throw new Error(`the message of ${turn} is ${inputs.length} times in the log`);
    if (steeredInto === undefined) continue;
    if (answerSeq !== turnRecords?.get(steeredInto)?.answerSeq) throw new Error(`${turn} has another answer`);
  }
}

/** The context shows nothing of a turn that was rolled back. */
function checkUndone({ db }: World): void {
  const { log = [], versions, state, turnRecords } = readConversation(db, ref) ?? {};
  if (state?.undo !== undefined) throw new Error('messages are left to undo');
  if (turnRecords?.get('t1')?.state !== 'canceled') return;
  const evicted = versions?.get(state?.size.version ?? 0)?.segments.filter(({ kind }) => kind === 'evicted') ?? [];
  for (const { seq, turn } of log) {
    const isEvicted = evicted.some(({ from, to }) => from <= seq && seq <= to);
    if (isEvicted !== (turn === 't1')) throw new Error(`message ${seq} of ${turn} is ${isEvicted ? 'not ' : ''}shown`);
  }
}

/** The conversation is erased at the end. `watch` checks that no turn or pass was erased with it. */
function checkErased({ db }: World): void {
  if (listConversations(db).length > 0) throw new Error('the idle conversation was not erased');
}

/** A finished copy has the log and the version of its original. */
function checkCopy({ db }: World): void {
  const [original, copy] = [readConversation(db, ref), readConversation(db, COPY)];
  if (copy?.fork === undefined || copy.fork.isOpen) return;
  const plan = copy.fork;
  if (copy.log.length !== plan.head) throw new Error(`the copy has ${copy.log.length} messages, not ${plan.head}`);
  const wanted = plan.version === 0 ? [] : original?.versions.get(plan.version)?.segments;
  const segments = copy.versions.get(1)?.segments ?? [];
  if (toText(segments) !== toText(wanted)) throw new Error('the copy differs from its original');
  if (segments.some((segment) => segment.kind === 'summary' && !copy.texts.summaries.has(segment.summaryKey))) {
    throw new Error('the copy lacks the text of a summary');
  }
}

const summarize = compact('token_threshold');
const evictNow = compact('manual');
const [tryCancel, tryApprove, tryRestore] = [cancel('t1'), approve(), restoreAll].map(attempt) as [
  Client,
  Client,
  Client,
];
const twoTurns = [enqueue('t1'), enqueue('t2')];
const BOTH = { t1: ['completed'], t2: ['completed'] };

export const SCENARIOS: readonly Scenario[] = [
  { name: 'two producers, two turns', surround: plain, clients: twoTurns, ends: BOTH },
  {
    name: 'two turns and a cancel',
    surround: plain,
    clients: [...twoTurns, tryCancel],
    ends: { ...BOTH, t1: ['completed', 'canceled'] },
  },
  {
    name: 'a call that a service answers',
    surround: asking,
    clients: [enqueue('t1'), attempt(answer('t1', { c2_0: { content: 'blue' } }))],
    ends: { t1: ['completed'] },
  },
  {
    name: 'a turn with a tool of its own, its caller and another turn',
    surround: bringing,
    clients: [enqueue('t1', { tools: [ASK_OWN] }), attempt(answer('t1', { c2_0: { content: 'blue' } })), enqueue('t2')],
    ends: BOTH,
  },
  {
    name: 'two turns with instructions of their own behind a hard pass',
    surround: instructed,
    before: 'u20 a600 u20 a600 u20 a620',
    clients: [enqueue('t1', { instructions: 'Be brief.' }), enqueue('t2', { instructions: 'Be brief.' })],
    ends: BOTH,
    checkEnd: checkNothingBrought,
  },
  {
    name: 'a turn and an interrupt',
    surround: reading,
    clients: [enqueue('t1'), enqueue('t2', { onBusy: 'interrupt' })],
    ends: { t1: ['completed', 'canceled'], t2: ['completed'] },
  },
  {
    name: 'a turn and a rollback',
    surround: reading,
    clients: [enqueue('t1'), enqueue('t2', { onBusy: 'rollback' })],
    ends: { t1: ['completed', 'canceled'], t2: ['completed'] },
    checkEnd: checkUndone,
  },
  {
    name: 'a turn and a steering message',
    surround: reading,
    clients: [enqueue('t1'), enqueue('t2', { onBusy: 'steer' })],
    ends: BOTH,
    checkEnd: checkSteered,
  },
  { name: 'a pass with two children', surround: summarizing(brief), before: LONG, clients: [summarize] },
  { name: 'a pass with a failing child', surround: summarizing(halfDown), before: LONG, clients: [summarize] },
  {
    name: 'a turn and a pass with two children',
    surround: summarizing(brief),
    before: LONG,
    clients: [summarize, enqueue('t1')],
    ends: { t1: ['completed'] },
  },
  {
    name: 'an approval and a turn',
    surround: summarizing(brief, { mode: 'review' }),
    before: LONG,
    first: [summarize],
    clients: [tryApprove, enqueue('t1')],
    ends: { t1: ['completed'] },
  },
  {
    name: 'an approval and a restore',
    surround: summarizing(brief, { mode: 'review' }),
    before: LONG,
    first: [summarize],
    clients: [tryApprove, tryRestore],
  },
  {
    name: 'a fork and a pass of the original',
    surround: summarizing(brief),
    before: LONG,
    clients: [attempt(fork(COPY.id)), summarize],
    checkEnd: checkCopy,
  },
  {
    name: 'a restore and a pass',
    surround: evicting,
    before: 'u20 a20 u20 a20 u20 a20 u20 a20',
    clients: [tryRestore, evictNow],
  },
  { name: 'two turns and a soft pass', surround: evicting, before: 'u20 a20 u20 a20', clients: twoTurns, ends: BOTH },
  {
    name: 'two turns behind a hard pass',
    surround: hard,
    before: 'u20 a600 u20 a600 u20 a620',
    clients: twoTurns,
    ends: BOTH,
  },
  {
    name: 'a turn and an expiry',
    surround: idle,
    first: [enqueue('t1')],
    restMs: REST_MS,
    clients: [enqueue('t2'), tryCancel],
    ends: BOTH,
    checkEnd: checkErased,
  },
  {
    name: 'an append, a pass and an expiry',
    surround: idle,
    first: [enqueue('t1')],
    restMs: REST_MS,
    clients: [attempt(append), attempt(evictNow)],
    checkEnd: checkErased,
  },
];

type Bounds = Pick<Exploration, 'faults' | 'maxSteps' | 'maxMs'>;

export function exploreScenario(scenario: Scenario, bounds: Bounds, mutate?: Mutate): Exploration {
  const { surround, before, first = [], restMs = 0, clients } = scenario;
  return {
    ...bounds,
    open: async () => {
      const options = { surround, clients: [...first, ...clients], timers: NO_TIMERS, recordsReplies: true };
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
      checkRest(world);
      checkOutcome(world, scenario.ends ?? {});
      scenario.checkEnd?.(world);
    },
  };
}

function checkRest({ db, jobs }: World): void {
  const passes = listConversations(db).filter(({ pass }) => pass !== undefined);
  const left = { ready: readDueTimes(db).size, jobs: jobs.all.length, passes: passes.length };
  if (Object.values(left).some((count) => count > 0)) throw new Error(`work is left: ${JSON.stringify(left)}`);
}

/** Every turn is settled in an allowed state, and turns are settled in the order of their acceptance. */
function checkOutcome({ db }: World, ends: Readonly<Record<string, readonly string[]>>): void {
  const { turnRecords, events } = readConversation(db, ref) ?? {};
  if (turnRecords === undefined) return;
  for (const { turn, state, failure } of turnRecords.values()) {
    if (!isSettled(state)) throw new Error(`${turn} remains ${state}`);
    if (!ends[turn]?.includes(state)) throw new Error(`${turn} is ${state} (${failure?.code})`);
  }
  const settled = events?.filter(({ type, fields }) => type === 'turn_settled' && fields['state'] !== 'canceled');
  const accepted = [...turnRecords.keys()].filter((turn) => turnRecords.get(turn)?.state !== 'canceled');
  const order = settled?.map(({ fields }) => fields['turn']).join();
  if (order !== accepted.join()) throw new Error(`accepted ${accepted.join()}, settled ${order}`);
}
