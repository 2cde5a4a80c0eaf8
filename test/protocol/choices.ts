import { QUEUES } from '../../src/jobs/names.ts';
import type { HeldCall } from './held-calls.ts';
import { nameCall } from './held-calls.ts';
import { watch } from './invariants.ts';
import type { StoredJob } from './memory-jobs.ts';
import { textOfDatabase } from './snapshot.ts';
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

export type Fault = Exclude<keyof Faults, 'all'>;

export interface Choice {
  readonly name: string;
  readonly fault?: Fault;
  readonly happen: () => Promise<void>;
}

/** Longer than a lease and than a lock with its look at stalled jobs. */
const LAPSE_MS = 15_001;

/** Jobs at a time: two turn workers, a pass worker and another for when the first is lost, one that summarizes. */
const WIDTH: Readonly<Record<string, number>> = { [QUEUES.turn]: 2, [QUEUES.compaction]: 2, [QUEUES.summarization]: 1 };

/**
 * What may happen next in a world. Calls that touch nothing shared (a model, a tool, the log behind us, which never changes) happen at
 * once: in which order they do makes no difference to anybody else.
 */
export class Choices {
  readonly #world: World;
  readonly #left: Record<keyof Faults, number>;
  readonly #resent = new WeakSet<HeldCall>();
  #sweptAt = Number.NEGATIVE_INFINITY;
  #sweeps = 0;

  constructor(world: World, faults: Faults) {
    this.#world = world;
    this.#left = { ...faults };
  }

  /** what is left of the faults, and calls that took effect already: part of the state */
  get state(): string {
    const resent = this.#world.held.all.map((call) => (this.#resent.has(call) ? 1 : 0)).join('');
    return `${Object.values(this.#left).join()} ${resent} ${this.#sweptAt}`;
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
    const happen = (act: () => Promise<unknown>) => async (): Promise<void> => void (await watch(db, call, act));
    const choices: Choice[] = [{ name, happen: happen(() => held.release(call)) }];
    const isScript = call.room !== 'job' && call.room !== 'queue' && call.room !== 'wakes';
    const isWrite = !/^(read|inspect|isPending)/.test(call.operation);
    if (call.operation === 'wake' && this.#has('lostWakes')) {
      const lose = async (): Promise<void> => {
        held.drop(call);
        call.answer(undefined);
      };
      choices.push({ name: `lost wake ${name}`, fault: 'lostWakes', happen: lose });
    }
    // A read that is sent again, or whose reader dies behind it, is no other than one that happens later, or before it.
    if (isScript && isWrite && this.#has('lostReplies') && !this.#resent.has(call)) {
      const act = async (): Promise<void> => {
        await watch(db, call, () => held.actUnanswered(call));
        this.#resent.add(call);
        await this.#checkTwice(call);
      };
      choices.push({ name: `lost reply ${name}`, fault: 'lostReplies', happen: act });
    }
    if (this.#has('deaths') && (isWrite || call.room === 'job')) {
      const die = async (): Promise<void> => held.kill(call.actor.process);
      choices.push({ name: `death before ${name}`, fault: 'deaths', happen: die });
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
    const { jobs, working } = this.#world;
    const busy = [...working].filter(([actor]) => !actor.process.isDead).map(([, { queue }]) => queue);
    const isFree = ({ queue }: StoredJob) => busy.filter((one) => one === queue).length < (WIDTH[queue] ?? 1);
    return jobs
      .takeable()
      .filter(isFree)
      .map((job) => ({
        name: `take ${job.id}`,
        happen: async () => this.#world.deliver(openProcess(`${job.id}.${job.deliveries + 1}`), job),
      }));
  }

  #sweep(): Choice[] {
    const { db, clock, working } = this.#world;
    const isAtIt = [...working].some(([actor, job]) => !actor.process.isDead && job.queue === undefined);
    const isDue = [...db.ready.values()].some((at) => at <= clock.now());
    if (isAtIt || !isDue || this.#sweptAt + 1_000 > clock.now()) return [];
    const happen = async (): Promise<void> => {
      this.#sweptAt = clock.now();
      this.#sweeps += 1;
      this.#world.sweep(openProcess(`s${this.#sweeps}`), `s${this.#sweeps}`);
    };
    return [{ name: 'sweep', happen }];
  }

  #lapse(): Choice[] {
    const { db, clock } = this.#world;
    const conversations = [...db.conversations.values()];
    const isHeld = conversations.some(({ owner, pass }) => owner !== undefined || pass?.owner !== undefined);
    if (!isHeld || !this.#has('lapses')) return [];
    const happen = async (): Promise<void> => clock.moveTo(clock.now() + LAPSE_MS);
    return [this.#paid({ name: 'lapse', fault: 'lapses', happen })];
  }

  /** Nobody has anything to do: time passes to where somebody has. */
  #waitOn(): Choice[] {
    const { clock, jobs, db } = this.#world;
    const due = [...db.ready.values()].map((at) => Math.max(at, this.#sweptAt + 1_000));
    const times = [...due, jobs.nextDueAt].filter((at) => at !== undefined);
    if (times.length === 0) return [];
    const happen = async (): Promise<void> => clock.moveTo(Math.max(clock.now() + 1, Math.min(...times)));
    return [{ name: 'time passes', happen }];
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
