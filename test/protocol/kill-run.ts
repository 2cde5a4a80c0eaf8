import type { ClientPorts } from '../../src/api/client/ports.ts';
import { isTurnfoldError, TurnfoldError } from '../../src/domain/errors.ts';
import type { Message } from '../../src/domain/message.ts';
import { readDueTimes } from '../store/stored-conversation.ts';
import { type HeldCall, type Process, settle } from './held-calls.ts';
import { textOfDatabase } from './snapshot.ts';
import { openProcess, World, type WorldOptions } from './world.ts';

/** Resolves once the condition is true. */
export type Until = (isTrue: (world: World) => boolean) => Promise<void>;

export interface KillScenario {
  readonly name: string;
  readonly options: WorldOptions;
  /** Log before the run. */
  readonly before?: readonly Message[];
  /** Turns and passes race. Which of them comes first, and so the versions, may differ between runs. */
  readonly isRacing?: true;
  /** Number of first wakes that the queue loses. */
  readonly lostWakes?: number;
  readonly clients: readonly ((ports: ClientPorts, until: Until) => Promise<unknown>)[];
}

/**
 * A fault of one call:
 * - `before`: the caller's process dies before the call takes effect.
 * - `after`: the caller's process dies after the call took effect, and before the reply.
 * - `again`: the reply is lost, and the connection sends the call again.
 * - `unanswered`: the reply is lost, and the caller gets an outage.
 */
export const CALL_FAULTS = ['before', 'after', 'again', 'unanswered'] as const;
export type CallFault = (typeof CALL_FAULTS)[number];

/** Ports that Redis serves. A call to a model, a tool or a summarizer is never repeated by a connection. */
const REDIS_ROOMS: ReadonlySet<string> = new Set([
  'turns',
  'passes',
  'contexts',
  'summaries',
  'sweep',
  'wakes',
  'versions',
  'proposals',
  'listings',
]);
const OUTAGE = new TurnfoldError('redis_unavailable', 'Redis does not answer: the connection was lost');
/** The client names the repeatable call in an error of its own. */
const isOutage = (error: unknown): boolean => isTurnfoldError(error, OUTAGE.code);

const MAX_CALLS = 2_000;
const MAX_ATTEMPTS = 10;

/** A client, started again in a new process after each death. */
interface Service {
  readonly play: KillScenario['clients'][number];
  readonly name: string;
  process: Process;
  isDone: boolean;
}

interface Condition {
  readonly isTrue: (world: World) => boolean;
  readonly process: Process;
  readonly resolve: () => void;
}

export interface KillRun {
  readonly world: World;
  /** Names of all calls in their order. */
  readonly calls: readonly string[];
  /** Number of faults that happened. A fault after the last call does not. */
  readonly faults: number;
}

/**
 * Runs a scenario in one fixed order: the oldest call first, and time moves only if nothing else can happen.
 * @param faults faults by number of the call, from 1
 */
export async function runWithFaults(
  scenario: KillScenario,
  faults: ReadonlyMap<number, CallFault> = new Map(),
): Promise<KillRun> {
  const world = await World.open(scenario.options);
  if (scenario.before !== undefined) await world.write(scenario.before);
  return await new Runner(scenario, world, faults).run();
}

class Runner {
  readonly #world: World;
  readonly #faults: ReadonlyMap<number, CallFault>;
  readonly #services: readonly Service[];
  readonly #calls: string[] = [];
  #conditions: Condition[] = [];
  #workers = openProcess('w1');
  #deaths = 0;
  #faultCount = 0;
  #wakesToLose: number;
  #sweeps = 0;
  #sweptAt = Number.NEGATIVE_INFINITY;

  constructor({ clients, lostWakes = 0 }: KillScenario, world: World, faults: ReadonlyMap<number, CallFault>) {
    this.#world = world;
    this.#faults = faults;
    this.#wakesToLose = lostWakes;
    this.#services = clients.map((play, index) => {
      const name = `service${index + 1}`;
      return { play, name, process: openProcess(name), isDone: false };
    });
  }

  async run(): Promise<KillRun> {
    const { held, failures } = this.#world;
    for (const service of this.#services) this.#play(service);
    for (;;) {
      await settle();
      if (this.#meetConditions()) continue;
      const [call] = held.all;
      if (call !== undefined) await this.#happen(call);
      else if (!this.#startWork() && !this.#passTime()) break;
    }
    const waiting = this.#services.filter(({ isDone }) => !isDone).map(({ name }) => name);
    const other = failures.find((failure) => !isOutage(failure));
    if (other !== undefined) throw new Error('a service or a delivery failed without an outage', { cause: other });
    if (waiting.length > 0) throw new Error(`${waiting.join()} waits for a condition that never becomes true`);
    return { world: this.#world, calls: this.#calls, faults: this.#faultCount };
  }

  async #happen(call: HeldCall): Promise<void> {
    const { held } = this.#world;
    this.#calls.push(`${call.room}.${call.operation}`);
    if (this.#calls.length > MAX_CALLS) throw new Error(`the run made more than ${MAX_CALLS} calls`);
    const fault = this.#faults.get(this.#calls.length);
    const isOfProcess = fault === 'before' || fault === 'after';
    if (fault === undefined || !(isOfProcess || REDIS_ROOMS.has(call.room))) return await this.#answer(call);
    this.#faultCount += 1;
    if (fault === 'again') return await this.#sendAgain(call);
    if (fault !== 'before') await held.actUnanswered(call);
    if (fault === 'unanswered') held.fail(call, OUTAGE);
    else this.#die(call.actor.process);
  }

  async #answer(call: HeldCall): Promise<void> {
    const { held } = this.#world;
    if (call.operation !== 'wake' || this.#wakesToLose === 0) return void (await held.release(call));
    this.#wakesToLose -= 1;
    held.drop(call);
    call.answer(undefined);
  }

  /** Checks I5: the repetition changes nothing. */
  async #sendAgain(call: HeldCall): Promise<void> {
    const { held, db } = this.#world;
    await held.actUnanswered(call);
    const once = textOfDatabase(db);
    await held.release(call);
    if (textOfDatabase(db) !== once) {
      throw new Error(`I5: ${call.room}.${call.operation} changed the store when repeated`);
    }
  }

  #die(process: Process): void {
    this.#world.held.kill(process);
    this.#deaths += 1;
    if (process === this.#workers) this.#workers = openProcess(`w${this.#deaths + 1}`);
    const service = this.#services.find((one) => one.process === process);
    if (service === undefined) return;
    service.process = openProcess(`${service.name}.${this.#deaths}`);
    this.#play(service);
  }

  /** A service that gets an outage repeats its work, like one that was started again. */
  #play(service: Service, attempt = 1): void {
    const { process } = service;
    const until: Until = (isTrue) => new Promise((resolve) => this.#conditions.push({ isTrue, process, resolve }));
    service.play(this.#world.openClient(process), until).then(
      () => {
        service.isDone = true;
        return undefined;
      },
      (error: unknown) => {
        if (process.isDead) return;
        if (isOutage(error) && attempt < MAX_ATTEMPTS) this.#play(service, attempt + 1);
        else this.#world.failures.push(error);
      },
    );
  }

  #meetConditions(): boolean {
    const living = this.#conditions.filter(({ process }) => !process.isDead);
    const met = living.filter(({ isTrue }) => isTrue(this.#world));
    this.#conditions = living.filter((condition) => !met.includes(condition));
    for (const { resolve } of met) resolve();
    return met.length > 0;
  }

  #startWork(): boolean {
    const { jobs, db, clock } = this.#world;
    jobs.releaseStalled();
    const [job] = jobs.takeable();
    if (job !== undefined) {
      this.#world.deliver(this.#workers, job);
      return true;
    }
    const isDue = [...readDueTimes(db).values()].some((at) => at <= clock.now());
    if (!isDue || this.#sweptAt + 1_000 > clock.now()) return false;
    this.#sweptAt = clock.now();
    this.#sweeps += 1;
    this.#world.sweep(this.#workers, `sweep${this.#sweeps}`);
    return true;
  }

  /** Moves the clock to the next due time. @returns false if nothing will ever be due */
  #passTime(): boolean {
    const { clock, jobs, db, working } = this.#world;
    if (clock.fireNext()) return true;
    for (const { process, origin } of working) {
      if (!process.isDead && origin.kind === 'job') jobs.extendLock(origin.job);
    }
    const due = [...readDueTimes(db).values()].map((at) => Math.max(at, this.#sweptAt + 1_000));
    const times = [clock.nextTimerAt, jobs.nextDueAt, ...due].filter((at) => at !== undefined);
    if (times.length === 0) return false;
    const next = Math.min(...times);
    if (next <= clock.now()) throw new Error('work is due, but no worker takes it');
    clock.moveTo(next);
    return true;
  }
}
