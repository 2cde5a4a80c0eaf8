import { answerTurn } from '../../src/client/answers.ts';
import { forkConversation } from '../../src/client/forks.ts';
import { approveProposal } from '../../src/client/proposals.ts';
import { cancelTurn, type EnqueuedTurn, enqueueTurn } from '../../src/client/turns.ts';
import { restoreConversation } from '../../src/client/versions.ts';
import type { Reason } from '../../src/domain/compaction/thresholds.ts';
import { isTurnfoldError } from '../../src/domain/errors.ts';
import { nameConversation } from '../../src/domain/ids.ts';
import type { Message } from '../../src/domain/message.ts';
import { noTracing } from '../../src/domain/ports/tracing.ts';
import { requestPass } from '../../src/workers/pass-request.ts';
import { type HeldCall, type Process, settle } from './held-calls.ts';
import { textOfDatabase } from './snapshot.ts';
import { AGENT, openProcess, ref, World, type WorldOptions } from './world.ts';

/** What a service does. It is played again from its beginning when its process dies. */
export interface Client {
  enqueue(turn: string, input: string, delayMs?: number): Promise<EnqueuedTurn>;
  /** brings what the turn waits for; a turn that waits no longer has it already */
  answer(turn: string, answers: Readonly<Record<string, unknown>>): Promise<void>;
  cancel(turn: string): Promise<void>;
  /** asks for a pass */
  compact(reason: Reason): Promise<void>;
  /** approves of the proposal that waits, if one does. @throws what it is refused for */
  approve(proposal?: string): Promise<void>;
  /** shows the whole log again, and ends a pass in progress */
  restoreAll(): Promise<void>;
  /** copies the conversation */
  fork(to: string): Promise<void>;
  /** until the world is so */
  until(isSo: (world: World) => boolean): Promise<void>;
}

export interface Story {
  readonly name: string;
  readonly options: WorldOptions;
  readonly before?: readonly Message[];
  /** turns and passes go on side by side: which of them is first may differ from run to run, and with it the versions */
  readonly isRacing?: true;
  /** so many wakes are answered and never were added, the first ones */
  readonly lostWakes?: number;
  readonly clients: readonly ((client: Client) => Promise<void>)[];
}

/**
 * What happens to a call: its process dies before it takes effect, or after that and before it is answered; its answer is lost
 * and it is sent again; its answer is lost and its caller is told so.
 */
export const MISHAPS = ['before', 'after', 'again', 'unanswered'] as const;
export type Mishap = (typeof MISHAPS)[number];

/** Which call, from 1, in the order in which they happen. */
export type Mishaps = ReadonlyMap<number, Mishap>;

/** Rooms whose calls are answered by Redis. A model, a tool or a summarizer is not asked again behind its caller's back. */
const REDIS_ROOMS: ReadonlySet<string> = new Set([
  'turns',
  'passes',
  'contexts',
  'summaries',
  'sweep',
  'wakes',
  'versions',
  'proposals',
]);
const OUTAGE = new Error('the connection was lost');

const MOST_CALLS = 2_000;
const MOST_DEAD = 10;

interface Teller {
  readonly play: (client: Client) => Promise<void>;
  readonly name: string;
  process: Process;
  isDone: boolean;
}

interface Condition {
  readonly isSo: (world: World) => boolean;
  readonly process: Process;
  readonly go: () => void;
}

export interface Acknowledged {
  readonly world: World;
  /** calls that happened */
  readonly calls: number;
  readonly mishaps: number;
  /** names of calls, by number */
  readonly names: readonly string[];
}

/** Tells a story to its end: one call after the other, first come first served; time moves when nothing else does. */
export async function tell(story: Story, mishaps: Mishaps = new Map()): Promise<Acknowledged> {
  const world = await World.open(story.options);
  if (story.before !== undefined) await world.write(story.before);
  return await new Telling(story, world, mishaps).run();
}

class Telling {
  readonly #story: Story;
  readonly #world: World;
  readonly #mishaps: Mishaps;
  readonly #tellers: readonly Teller[];
  readonly #names: string[] = [];
  #conditions: Condition[] = [];
  #workers = openProcess('w1');
  #dead = 0;
  #struck = 0;
  #lost = 0;
  #sweeps = 0;
  #sweptAt = Number.NEGATIVE_INFINITY;

  constructor(story: Story, world: World, mishaps: Mishaps) {
    this.#story = story;
    this.#world = world;
    this.#mishaps = mishaps;
    this.#tellers = story.clients.map((play, index) => {
      const name = `service${index + 1}`;
      return { play, name, process: openProcess(name), isDone: false };
    });
  }

  async run(): Promise<Acknowledged> {
    const { held, failures } = this.#world;
    for (const teller of this.#tellers) this.#play(teller);
    for (;;) {
      await settle();
      if (this.#meetConditions()) continue;
      const [call] = held.all;
      if (call !== undefined) await this.#happen(call);
      else if (!this.#startWork() && !this.#passTime()) break;
    }
    const silent = this.#tellers.filter(({ isDone }) => !isDone).map(({ name }) => name);
    if (silent.length > 0) throw new Error(`${silent.join()} waits for what never comes`);
    const other = failures.find((failure) => failure !== OUTAGE);
    if (other !== undefined) throw new Error('a delivery ended otherwise than by an outage', { cause: other });
    return { world: this.#world, calls: this.#names.length, mishaps: this.#struck, names: this.#names };
  }

  async #happen(call: HeldCall): Promise<void> {
    const { held } = this.#world;
    this.#names.push(`${call.room}.${call.operation}`);
    if (this.#names.length > MOST_CALLS) throw new Error(`more than ${MOST_CALLS} calls`);
    const mishap = this.#mishaps.get(this.#names.length);
    const isOfRedis = REDIS_ROOMS.has(call.room);
    if (mishap === undefined || (!isOfRedis && (mishap === 'again' || mishap === 'unanswered'))) {
      if (call.operation === 'wake' && this.#lost < (this.#story.lostWakes ?? 0)) this.#lose(call);
      else await held.release(call);
      return;
    }
    this.#struck += 1;
    if (mishap === 'again') await this.#sendAgain(call);
    else if (mishap === 'unanswered') {
      await held.actUnanswered(call);
      held.fail(call, OUTAGE);
    } else {
      if (mishap === 'after') await held.actUnanswered(call);
      this.#die(call.actor.process);
    }
  }

  #lose(call: HeldCall): void {
    this.#lost += 1;
    this.#world.held.drop(call);
    call.answer(undefined);
  }

  /** I5: the second time changes nothing. */
  async #sendAgain(call: HeldCall): Promise<void> {
    const { held, db } = this.#world;
    await held.actUnanswered(call);
    const once = textOfDatabase(db);
    await held.release(call);
    if (textOfDatabase(db) !== once) throw new Error(`I5: ${call.room}.${call.operation} sent again changed something`);
  }

  #die(process: Process): void {
    const { held } = this.#world;
    held.kill(process);
    this.#dead += 1;
    if (process === this.#workers) this.#workers = openProcess(`w${this.#dead + 1}`);
    const teller = this.#tellers.find((one) => one.process === process);
    if (teller === undefined) return;
    teller.process = openProcess(`${teller.name}.${this.#dead}`);
    this.#play(teller);
  }

  #play(teller: Teller, attempt = 1): void {
    const { process } = teller;
    const client = this.#openClient(process);
    teller.play(client).then(
      () => {
        teller.isDone = true;
        return undefined;
      },
      (error: unknown) => {
        if (process.isDead) return;
        // A service that was told of an outage does the same again.
        if (error === OUTAGE && attempt < MOST_DEAD) this.#play(teller, attempt + 1);
        else this.#world.failures.push(error);
      },
    );
  }

  #openClient(process: Process): Client {
    const ports = this.#world.openClient(process);
    return {
      enqueue: (turn, input, delayMs) =>
        enqueueTurn(ports, {
          conversation: ref.id,
          agent: AGENT,
          turn,
          input,
          ...(delayMs !== undefined && { delayMs }),
        }),
      answer: async (turn, answers) => {
        try {
          await answerTurn(ports, nameConversation(ref), turn, answers as never);
        } catch (error) {
          if (!isTurnfoldError(error) || error.code !== 'conflict') throw error;
        }
      },
      compact: async (reason) =>
        void (await requestPass({ ...ports, onEvent: () => undefined, tracing: noTracing }, ref, {
          reasons: [reason],
        })),
      cancel: async (turn) => void (await cancelTurn(ports, nameConversation(ref), turn)),
      approve: async (proposal) => {
        const id = proposal ?? (await ports.proposals.readProposal(ref))?.proposal.id;
        if (id !== undefined) await approveProposal(ports, ref.id, id, { operation: 'approval' });
      },
      restoreAll: async () =>
        void (await restoreConversation(ports, ref.id, { version: 0, newer: 'keep', operation: 'restore' })),
      fork: async (to) => void (await forkConversation(ports, ref.id, to, { operation: 'fork' })),
      until: (isSo) => new Promise((go) => this.#conditions.push({ isSo, process, go })),
    };
  }

  #meetConditions(): boolean {
    const living = this.#conditions.filter(({ process }) => !process.isDead);
    const met = living.filter(({ isSo }) => isSo(this.#world));
    this.#conditions = living.filter((condition) => !met.includes(condition));
    for (const { go } of met) go();
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
    const isDue = [...db.ready.values()].some((at) => at <= clock.now());
    if (!isDue || this.#sweptAt + 1_000 > clock.now()) return false;
    this.#sweptAt = clock.now();
    this.#sweeps += 1;
    this.#world.sweep(this.#workers, `sweep${this.#sweeps}`);
    return true;
  }

  /** To the next moment at which something is due; false: nothing ever will be. */
  #passTime(): boolean {
    const { clock, jobs, db, working } = this.#world;
    if (clock.fireNext()) return true;
    for (const { process, origin } of working) {
      if (!process.isDead && origin.kind === 'job') jobs.extendLock(origin.job);
    }
    const due = [...db.ready.values()].map((at) => Math.max(at, this.#sweptAt + 1_000));
    const times = [clock.nextTimerAt, jobs.nextDueAt, ...due].filter((at) => at !== undefined);
    if (times.length === 0) return false;
    const next = Math.min(...times);
    if (next <= clock.now()) throw new Error('something is due that nobody takes up');
    clock.moveTo(next);
    return true;
  }
}
