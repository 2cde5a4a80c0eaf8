import type { ClientPorts } from '../../src/client/ports.ts';
import { answerCalls, cancelTurn, enqueueTurn } from '../../src/client/turns.ts';
import { isTurnfoldError } from '../../src/domain/errors.ts';
import { isSettled } from '../../src/domain/turn.ts';
import { scriptedModel } from '../../src/models/scripted.ts';
import type { Store } from '../../src/store/open-store.ts';
import type { MemoryDatabase } from '../fakes/store/database.ts';
import { NO_TIMERS } from './clock.ts';
import type { Exploration } from './explore.ts';
import { TOOLS, talk } from './stories.ts';
import { AGENT, openProcess, ref, type Surroundings, World } from './world.ts';

export interface Scenario {
  readonly name: string;
  readonly surround: () => Surroundings;
  readonly before?: string;
  readonly clients: readonly ((ports: ClientPorts) => Promise<unknown>)[];
  /** of accepted turns: how each may end */
  readonly ends: Readonly<Record<string, readonly string[]>>;
}

const say = () => ({ model: scriptedModel({ decide: () => ({ content: 'said' }) }) });

const enqueue = (turn: string) => (ports: ClientPorts) =>
  enqueueTurn(ports, { conversation: ref.id, agent: AGENT, turn, input: `Input of ${turn}.` });

const evicting = () => ({
  ...say(),
  policy: { turnThreshold: 3, retentionWindow: 2, strategy: { evict: 1 }, minGain: 0 },
});

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

/** Brings the answer whether or not the turn waits for it yet. */
async function bring(ports: ClientPorts): Promise<void> {
  try {
    await answerCalls(ports, ref, 't1', { c2_0: { content: 'blue' } });
  } catch (error) {
    if (!isTurnfoldError(error)) throw error;
  }
}

async function cancel(ports: ClientPorts): Promise<void> {
  try {
    await cancelTurn(ports, ref, 't1');
  } catch (error) {
    if (!isTurnfoldError(error)) throw error;
  }
}

export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'two producers, two turns',
    surround: say,
    clients: [enqueue('t1'), enqueue('t2')],
    ends: { t1: ['completed'], t2: ['completed'] },
  },
  {
    name: 'two turns and a cancel',
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
    name: 'two turns and a soft pass',
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
];

type Mutation = (store: Store, db: MemoryDatabase) => Store;
type Bounds = Pick<Exploration, 'faults' | 'maxPaths' | 'maxMs'>;

export function exploreScenario(scenario: Scenario, bounds: Bounds, mutate?: Mutation): Exploration {
  const { surround, before, clients, ends } = scenario;
  return {
    ...bounds,
    open: async () => {
      const world = await World.open({ surround, timers: NO_TIMERS, tracksReplies: true, ...(mutate && { mutate }) });
      if (before !== undefined) await world.write(talk(before));
      clients.forEach((play, index) => {
        const { actor, ports } = world.openClient(openProcess(`c${index + 1}`));
        world.begin(actor, play(ports));
      });
      return world;
    },
    checkEnd: ({ db, jobs }) => {
      const { turnRecords, mailbox, pass, events } = db.find(ref) ?? {};
      if (db.ready.size > 0 || jobs.all.length > 0 || pass !== undefined) throw new Error('something is left');
      if (turnRecords === undefined || mailbox === undefined) return;
      for (const { turn, state, failure } of turnRecords.values()) {
        if (!isSettled(state)) throw new Error(`${turn} is ${state} for ever`);
        if (!ends[turn]?.includes(state)) throw new Error(`${turn} is ${state} (${failure?.code})`);
      }
      const settled = events?.filter(({ type, fields }) => type === 'turn_settled' && fields['state'] !== 'canceled');
      const accepted = [...turnRecords.keys()].filter((turn) => turnRecords.get(turn)?.state !== 'canceled');
      const order = settled?.map(({ fields }) => fields['turn']).join();
      if (order !== accepted.join()) throw new Error(`accepted ${accepted.join()}, settled ${order}`);
    },
  };
}
