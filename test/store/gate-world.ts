import { type GateEntry, type GateReport, type GateStore, openGateStore } from '../../src/store/gates.ts';
import type { Keyspace } from '../../src/store/keys.ts';
import { loadLua } from '../../src/store/lua-file.ts';
import { type Argument, Script, type ScriptDefinition } from '../../src/store/script.ts';
import { RefusalCredit } from '../../src/workers/gates.ts';
import type { SuiteRedis } from './open-redis.ts';

const CLOCK = "redis.call('TIME')";

/** The gates of one Redis, whose scripts read the time of this object instead of the time of Redis. */
export class GateWorld {
  now = 1_000_000;
  readonly store: GateStore;

  constructor({ redis, keyspace }: Pick<SuiteRedis, 'redis' | 'keyspace'>) {
    this.store = openGateStore(redis, keyspace, (definition) => {
      const script = new TimedScript(definition, keyspace, this);
      return (...input) => script.run(redis, input);
    });
  }

  enter(gate: string, waiter: string, settings: Partial<GateEntry> = {}) {
    return this.store.enterGate({ gate, waiter, tokens: 1, patienceMs: 1_000, ...settings });
  }

  leave(gate: string, waiter: string, outcome: GateReport['outcome'], report: Partial<GateReport> = {}) {
    return this.store.leaveGate({ gate, waiter, outcome, callMs: 0, ...report });
  }
}

/** A script that reads the time from its last two arguments. */
class TimedScript<Input extends readonly unknown[], Reply> extends Script<Input, Reply> {
  readonly #world: GateWorld;

  constructor(definition: ScriptDefinition<Input, Reply>, keyspace: Keyspace, world: GateWorld) {
    const file = loadLua(definition.file);
    if (!file.text.includes(CLOCK)) throw new Error(`${definition.file}.lua does not read the clock as ${CLOCK}`);
    super(definition, keyspace, { ...file, text: file.text.replace(CLOCK, '{ ARGV[#ARGV - 1], ARGV[#ARGV] }') });
    this.#world = world;
  }

  override encode(input: Input): Argument[] {
    const { now } = this.#world;
    return [...super.encode(input), Math.floor(now / 1_000), (now % 1_000) * 1_000];
  }
}

/** How a provider treats a call that begins now. */
export type Treatment =
  | { readonly answerMs: number }
  | { readonly refusedMs: number; readonly retryAfterMs?: number | undefined };

export interface SimulatedLoad {
  readonly gate: string;
  readonly turns: number;
  /** Time at which a turn arrives, in ms from the start. */
  readonly arriveMs?: (turn: number) => number;
  readonly treat: (now: number, turn: number) => Treatment;
  /** Turns that are canceled at a time from the start, in ms. */
  readonly cancelMs?: (turn: number) => number | undefined;
  readonly settings?: Partial<GateEntry>;
  /** True for a caller that goes to another model instead of waiting. */
  readonly hasFallback?: boolean;
  readonly random: () => number;
}

export interface SimulatedTurn {
  readonly arrivedMs: number;
  endedMs: number;
  calls: number;
  asks: number;
  /** True if a fallback answered. */
  isElsewhere: boolean;
}

const AT_GATE_MS = 1_000;
/** Maximum time after which a sweep finds a turn that is due, and a worker claims it. */
const SWEEP_MS = 1_200;

/** Runs the turns in simulated time, as workers do: short waits in the worker, long ones suspended until a sweep. */
export async function simulate(world: GateWorld, load: SimulatedLoad): Promise<SimulatedTurn[]> {
  const { gate, random } = load;
  const startedAt = world.now;
  const queue = new EventQueue();
  const turns: SimulatedTurn[] = [];
  const credit = new RefusalCredit();
  const begin = (turn: number, arrivedMs: number): void => {
    const state = { arrivedMs, endedMs: Number.POSITIVE_INFINITY, calls: 0, asks: 0, isElsewhere: false };
    turns.push(state);
    const waiter = `turn${turn}`;
    const isCanceled = (): boolean => world.now - startedAt >= (load.cancelMs?.(turn) ?? Number.POSITIVE_INFINITY);
    const end = (): void => void (state.endedMs = world.now - startedAt);
    const suspend = async (waitMs: number): Promise<void> => {
      if (load.hasFallback === true) {
        await world.leave(gate, waiter, 'left');
        state.isElsewhere = true;
        return end();
      }
      const jitter = Math.min(waitMs * 0.1, 1_000) * random();
      queue.add(world.now + waitMs + jitter + SWEEP_MS * random(), () => ask(world.now + AT_GATE_MS));
    };
    const ask = async (untilAt: number): Promise<void> => {
      if (isCanceled()) return;
      state.asks += 1;
      const patienceMs = untilAt - world.now;
      const passage = await world.enter(gate, waiter, { patienceMs, ...load.settings });
      if (passage.status !== 'held') return await call();
      if (passage.waitMs > patienceMs) return await suspend(passage.waitMs);
      queue.add(world.now + passage.waitMs, () => ask(untilAt));
    };
    const call = async (): Promise<void> => {
      state.calls += 1;
      credit.noteCall(gate);
      const treatment = load.treat(world.now, turn);
      const isAnswered = 'answerMs' in treatment;
      const callMs = isAnswered ? treatment.answerMs : treatment.refusedMs;
      queue.add(world.now + callMs, async () => {
        if (isAnswered) {
          await world.leave(gate, waiter, 'answered', { callMs });
          return end();
        }
        const { retryAfterMs } = treatment;
        const outcome = retryAfterMs === undefined && credit.spend(gate) ? 'refused' : 'limited';
        await suspend(await world.leave(gate, waiter, outcome, { callMs, retryAfterMs }));
      });
    };
    queue.add(startedAt + arrivedMs, () => ask(world.now + AT_GATE_MS));
  };
  for (let turn = 0; turn < load.turns; turn += 1) begin(turn, load.arriveMs?.(turn) ?? 0);
  for (let event = queue.take(); event !== undefined; event = queue.take()) {
    world.now = Math.max(world.now, Math.ceil(event.at));
    await event.run();
  }
  return turns;
}

interface SimulatedEvent {
  readonly at: number;
  readonly run: () => Promise<void>;
}

/** A binary heap of events by their time. */
class EventQueue {
  readonly #events: SimulatedEvent[] = [];

  add(at: number, run: () => Promise<void>): void {
    const events = this.#events;
    let place = events.push({ at, run }) - 1;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (this.#at(parent) <= at) break;
      events[place] = events[parent] as SimulatedEvent; // the parent's index is smaller
      place = parent;
    }
    events[place] = { at, run };
  }

  take(): SimulatedEvent | undefined {
    const events = this.#events;
    const first = events[0];
    const last = events.pop();
    if (first === undefined || last === undefined || events.length === 0) return first;
    let place = 0;
    for (;;) {
      const left = 2 * place + 1;
      const child = this.#at(left + 1) < this.#at(left) ? left + 1 : left;
      if (this.#at(child) >= last.at) break;
      events[place] = events[child] as SimulatedEvent; // within the heap, since its time is finite
      place = child;
    }
    events[place] = last;
    return first;
  }

  #at(place: number): number {
    return this.#events[place]?.at ?? Number.POSITIVE_INFINITY;
  }
}
