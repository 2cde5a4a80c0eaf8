import type { HeldCall } from './held-calls.ts';
import { nameCall } from './held-calls.ts';
import { watch } from './invariants.ts';
import type { StoredJob } from './memory-jobs.ts';
import { textOfDatabase } from './snapshot.ts';
import { ID_MARK } from './templates.ts';
import { openProcess, type World } from './world.ts';

/** What may go wrong, and how often in one run; together no more than `all`. */
export interface Faults {
  /** a wake is answered and never was added */
  readonly lostWakes: number;
  /** a reply is lost; the call is sent again, now or later, and the second reply counts */
  readonly lostReplies: number;
  /** the actor dies: nothing more is heard of it, and its lease and lock stay until they lapse */
  readonly deaths: number;
  /** every lease and lock lapses at once, while those who hold them go on without knowing */
  readonly lapses: number;
  readonly all: number;
}

export const NO_FAULTS: Faults = { lostWakes: 0, lostReplies: 0, deaths: 0, lapses: 0, all: 0 };

export type Fault = Exclude<keyof Faults, 'all'>;

export interface Choice {
  readonly name: string;
  readonly kind: 'act' | 'lost wake' | 'lost reply' | 'death' | 'take' | 'sweep' | 'lapse' | 'time';
  readonly call?: HeldCall;
  readonly job?: StoredJob;
  readonly fault?: Fault;
  readonly happen: () => Promise<void>;
}

/** What is left of the faults, and how far the sweeps are: goes on with a saved world. */
export interface Ledger {
  readonly left: Readonly<Faults>;
  readonly sweptAt: number;
  readonly sweeps: number;
}

/** Longer than a lease and than a lock with its look at stalled jobs. */
const LAPSE_MS = 15_001;
const SWEEP_MS = 1_000;

/**
 * What may happen next in a world. Calls that touch nothing shared (a model, a tool, the log behind us, which never changes) happen at
 * once: in which order they do makes no difference to anybody else. There are as many workers as jobs: a wake more never waits.
 */
export class Choices {
  readonly #world: World;
  readonly #left: Record<keyof Faults, number>;
  #sweptAt: number;
  #sweeps: number;

  constructor(world: World, { left, sweptAt, sweeps }: Ledger) {
    this.#world = world;
    this.#left = { ...left };
    this.#sweptAt = sweptAt;
    this.#sweeps = sweeps;
  }

  static begin(world: World, faults: Faults): Choices {
    return new Choices(world, { left: faults, sweptAt: Number.NEGATIVE_INFINITY, sweeps: 0 });
  }

  save(): Ledger {
    return { left: { ...this.#left }, sweptAt: this.#sweptAt, sweeps: this.#sweeps };
  }

  /** Its part of the state. */
  describe(): string {
    const sweptMs = Math.min(this.#world.clock.now() - this.#sweptAt, SWEEP_MS);
    return `${Object.values(this.#left).join()} ${sweptMs}`;
  }

  /** No lease and no lock lapses any more but by time passing, and that waits until nobody has anything to do. */
  get isTimeStill(): boolean {
    return !this.#has('lapses');
  }

  /** Whether somebody may look before time passes again which wakes are in the queue. */
  mayLook(mayBeDueAtOnce: boolean): boolean {
    const { db, clock } = this.#world;
    if (this.#isSweeping()) return true;
    if (this.#sweptAt + SWEEP_MS > clock.now()) return false;
    return mayBeDueAtOnce || [...db.ready.values()].some((at) => at <= clock.now());
  }

  /** A call that commutes with everything else. */
  findLocal(): HeldCall | undefined {
    return this.#world.held.all.find(
      ({ room, operation }) => room === 'model' || room === 'tool' || room === 'summarizer' || operation === 'readLog',
    );
  }

  list(): Choice[] {
    const { held, jobs } = this.#world;
    jobs.releaseStalled();
    const calls = held.all.flatMap((call) => this.#choicesOf(call));
    const begun = [...this.#takeable(), ...this.#sweep()];
    const choices = [...calls, ...begun];
    if (choices.length > 0) return [...choices, ...this.#lapse()];
    return this.#waitOn();
  }

  #choicesOf(call: HeldCall): Choice[] {
    const { db, held } = this.#world;
    const name = nameCall(call);
    const act = async (): Promise<void> => void (await watch(db, call, () => held.release(call)));
    const choices: Choice[] = [{ name, kind: 'act', call, happen: act }];
    const isScript = call.room !== 'job' && call.room !== 'queue' && call.room !== 'wakes';
    const isWrite = !/^(read|list|inspect|isPending)/.test(call.operation);
    if (call.operation === 'wake' && this.#has('lostWakes')) {
      const lose = async (): Promise<void> => {
        held.drop(call);
        call.answer(undefined);
      };
      choices.push({ name: `lost wake ${name}`, kind: 'lost wake', call, fault: 'lostWakes', happen: lose });
    }
    // A read that is sent again, or whose reader dies behind it, is no other than one that happens later, or before it.
    if (isScript && isWrite && this.#has('lostReplies') && !call.isResent) {
      const resend = async (): Promise<void> => {
        await watch(db, call, () => held.actUnanswered(call));
        call.isResent = true;
        await this.#checkTwice(call);
      };
      choices.push({ name: `lost reply ${name}`, kind: 'lost reply', call, fault: 'lostReplies', happen: resend });
    }
    if (this.#has('deaths') && (isWrite || call.room === 'job')) {
      const die = async (): Promise<void> => held.kill(call.actor.process);
      choices.push({ name: `death before ${name}`, kind: 'death', call, fault: 'deaths', happen: die });
    }
    return choices.map((choice) => this.#paid(choice));
  }

  /** I5, at once. Sent again later it meets whatever came between. */
  async #checkTwice(call: HeldCall): Promise<void> {
    const once = textOfDatabase(this.#world.db);
    await this.#world.held.actUnanswered(call);
    if (textOfDatabase(this.#world.db) !== once) throw new Error(`I5: ${call.operation} sent again changed something`);
  }

  #takeable(): Choice[] {
    return this.#world.jobs.takeable().map((job) => ({
      name: `take ${job.id}`,
      kind: 'take',
      job,
      happen: async () => this.#world.deliver(openProcess(`${job.id}.${job.deliveries + 1}`), job),
    }));
  }

  #sweep(): Choice[] {
    const { db, clock } = this.#world;
    const isDue = [...db.ready.values()].some((at) => at <= clock.now());
    if (this.#isSweeping() || !isDue || this.#sweptAt + SWEEP_MS > clock.now()) return [];
    const happen = async (): Promise<void> => {
      this.#sweptAt = clock.now();
      this.#sweeps += 1;
      const name = `${ID_MARK}s${this.#sweeps}`;
      this.#world.sweep(openProcess(name), name);
    };
    return [{ name: 'sweep', kind: 'sweep', happen }];
  }

  #isSweeping(): boolean {
    return [...this.#world.working].some(({ process, origin }) => !process.isDead && origin.kind === 'sweep');
  }

  #lapse(): Choice[] {
    const { db, clock } = this.#world;
    const conversations = [...db.conversations.values()];
    const isHeld = conversations.some(({ owner, pass }) => owner !== undefined || pass?.owner !== undefined);
    if (!isHeld || !this.#has('lapses')) return [];
    const happen = async (): Promise<void> => clock.moveTo(clock.now() + LAPSE_MS);
    return [this.#paid({ name: 'lapse', kind: 'lapse', fault: 'lapses', happen })];
  }

  /** Nobody has anything to do: time passes to where somebody has. */
  #waitOn(): Choice[] {
    const { clock, jobs, db } = this.#world;
    const due = [...db.ready.values()].map((at) => Math.max(at, this.#sweptAt + SWEEP_MS));
    const times = [...due, jobs.nextDueAt].filter((at) => at !== undefined);
    if (times.length === 0) return [];
    const happen = async (): Promise<void> => clock.moveTo(Math.max(clock.now() + 1, Math.min(...times)));
    return [{ name: 'time passes', kind: 'time', happen }];
  }

  #has(fault: Fault): boolean {
    return this.#left.all > 0 && this.#left[fault] > 0;
  }

  #paid(choice: Choice): Choice {
    const { fault, happen } = choice;
    if (fault === undefined) return choice;
    const pay = async (): Promise<void> => {
      this.#left[fault] -= 1;
      this.#left.all -= 1;
      await happen();
    };
    return { ...choice, happen: pay };
  }
}
