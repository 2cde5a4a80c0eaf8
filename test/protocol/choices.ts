import { listConversations, readDueTimes } from '../store/stored-conversation.ts';
import { type HeldCall, nameCall } from './held-calls.ts';
import { watch } from './invariants.ts';
import { listOwners, textOfDatabase } from './snapshot.ts';
import { ID_MARK } from './templates.ts';
import { openProcess, type World } from './world.ts';

/** Number of faults that one run may inject, by kind and in total. */
export interface Faults {
  /** The queue acknowledges a wake and loses the wake. */
  readonly lostWakes: number;
  /** The reply of a call is lost, so the call is sent again, at once or later. */
  readonly lostReplies: number;
  /** An actor dies. Its lease and its lock remain until they lapse. */
  readonly deaths: number;
  /** All leases and locks lapse at once, and their owners go on without noticing. */
  readonly lapses: number;
  /** The sweeper takes a worker for gone. The worker goes on, or it has died. */
  readonly gone: number;
  readonly all: number;
}

export const NO_FAULTS: Faults = { lostWakes: 0, lostReplies: 0, deaths: 0, lapses: 0, gone: 0, all: 0 };

export type Fault = Exclude<keyof Faults, 'all'>;

export interface Choice {
  readonly name: string;
  readonly fault?: Fault;
  /** The choice lets time pass, because no actor has anything else to do. */
  readonly isWait?: true;
  readonly happen: () => Promise<void>;
}

/** The faults that remain and the progress of the sweeper. Saved with a world. */
export interface Ledger {
  readonly left: Readonly<Faults>;
  readonly sweptAt: number;
  readonly sweeps: number;
}

/** Longer than a lease, and longer than a lock plus the check for stalled jobs. */
const LAPSE_MS = 15_001;
const SWEEP_MS = 1_000;

/**
 * The events that may happen next in a world. Calls to models, tools and the immutable log share no state with other actors, so
 * they happen at once instead of being a choice. Every job finds a free worker, so an extra wake never waits.
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

  /** The ledger's part of a state. */
  describe(): string {
    const sweptMs = Math.min(this.#world.clock.now() - this.#sweptAt, SWEEP_MS);
    return `${Object.values(this.#left).join()} ${sweptMs}`;
  }

  /** Finds a held call whose order against other calls cannot matter. */
  findLocal(): HeldCall | undefined {
    return this.#world.held.all.find(
      ({ room, operation }) => room === 'model' || room === 'tool' || room === 'summarizer' || operation === 'readLog',
    );
  }

  list(): Choice[] {
    const { held, jobs } = this.#world;
    jobs.releaseStalled();
    const calls = held.all.flatMap((call) => this.#choicesOf(call));
    const choices = [...calls, ...this.#takeable(), ...this.#sweep(), ...this.#loseWorkers()];
    return choices.length > 0 ? [...choices, ...this.#lapse()] : this.#waitOn();
  }

  #choicesOf(call: HeldCall): Choice[] {
    const { db, held } = this.#world;
    const name = nameCall(call);
    const act = async (): Promise<void> => void (await watch(db, call, () => held.release(call)));
    const choices: Choice[] = [{ name, happen: act }];
    const isScript = call.room !== 'job' && call.room !== 'queue' && call.room !== 'wakes';
    const isWrite = !/^(read|list|inspect|isPending)/.test(call.operation);
    if (call.operation === 'wake' && this.#has('lostWakes')) {
      const lose = async (): Promise<void> => {
        held.drop(call);
        call.answer(undefined);
      };
      choices.push({ name: `lost wake ${name}`, fault: 'lostWakes', happen: lose });
    }
    // A repeated read, or a reader that dies after its read, leads to no state that other choices do not reach.
    if (isScript && isWrite && this.#has('lostReplies') && !call.isResent) {
      const resend = async (): Promise<void> => {
        await watch(db, call, () => held.actUnanswered(call));
        call.isResent = true;
        await this.#checkTwice(call);
      };
      choices.push({ name: `lost reply ${name}`, fault: 'lostReplies', happen: resend });
    }
    if (this.#has('deaths') && (isWrite || call.room === 'job')) {
      const die = async (): Promise<void> => held.kill(call.actor.process);
      choices.push({ name: `death before ${name}`, fault: 'deaths', happen: die });
    }
    return choices.map((choice) => this.#paid(choice));
  }

  /** Checks I5 for an immediate repetition. A later repetition is a choice of its own. */
  async #checkTwice(call: HeldCall): Promise<void> {
    const once = textOfDatabase(this.#world.db);
    await this.#world.held.actUnanswered(call);
    if (textOfDatabase(this.#world.db) !== once)
      throw new Error(`I5: ${call.operation} changed the store when repeated`);
  }

  #takeable(): Choice[] {
    return this.#world.jobs.takeable().map((job) => ({
      name: `take ${job.id}`,
      happen: async () => this.#world.deliver(openProcess(`${job.id}.${job.deliveries + 1}`), job),
    }));
  }

  #sweep(): Choice[] {
    const { db, clock, working } = this.#world;
    const isSweeping = [...working].some(({ process, origin }) => !process.isDead && origin.kind === 'sweep');
    const isDue = [...readDueTimes(db).values()].some((at) => at <= clock.now());
    if (isSweeping || !isDue || this.#sweptAt + SWEEP_MS > clock.now()) return [];
    const happen = async (): Promise<void> => {
      this.#sweptAt = clock.now();
      this.#sweeps += 1;
      const name = `${ID_MARK}s${this.#sweeps}`;
      this.#world.sweep(openProcess(name), name);
    };
    return [{ name: 'sweep', happen }];
  }

  #lapse(): Choice[] {
    const { db, clock } = this.#world;
    if (!this.#has('lapses')) return [];
    const isOwned = listConversations(db).some(({ owner, pass }) => (owner ?? pass?.owner) !== undefined);
    if (!isOwned) return [];
    const happen = async (): Promise<void> => clock.moveTo(clock.now() + LAPSE_MS);
    return [this.#paid({ name: 'lapse', fault: 'lapses', happen })];
  }

  /** The sweeper ends the leases of one worker, that is of one delivery. */
  #loseWorkers(): Choice[] {
    if (!this.#has('gone')) return [];
    const workers = new Set(listOwners(this.#world.db).map((owner) => owner.slice(0, owner.lastIndexOf('-'))));
    return [...workers].map((worker) => {
      const happen = async (): Promise<void> => {
        this.#sweeps += 1;
        const name = `${ID_MARK}s${this.#sweeps}`;
        this.#world.endLeases(openProcess(name), name, worker);
      };
      return this.#paid({ name: `gone ${worker}`, fault: 'gone', happen });
    });
  }

  /** Moves the clock to the next moment at which something is due. */
  #waitOn(): Choice[] {
    const { clock, jobs, db } = this.#world;
    const due = [...readDueTimes(db).values()].map((at) => Math.max(at, this.#sweptAt + SWEEP_MS));
    const times = [...due, jobs.nextDueAt].filter((at) => at !== undefined);
    if (times.length === 0) return [];
    const happen = async (): Promise<void> => clock.moveTo(Math.max(clock.now() + 1, Math.min(...times)));
    return [{ name: 'time passes', isWait: true, happen }];
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
