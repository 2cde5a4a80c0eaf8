import { eventLoopShare } from '../../src/tokens/event-loop-share.ts';
import type { TakenJob } from './memory-jobs.ts';
import type { Shared } from './shared.ts';
import { toEssence } from './snapshot.ts';
import { type Template, toTemplate } from './templates.ts';

/** Actors that live and die together. */
export interface Process {
  readonly name: string;
  isDead: boolean;
}

/** What an actor does. With it and all that it was told it can be set up again, without its past. */
export type Origin =
  | { readonly kind: 'job'; readonly job: TakenJob }
  | { readonly kind: 'sweep' }
  | { readonly kind: 'client'; readonly index: number };

/** What an actor was told: the answer to one of its calls, and when. */
export interface Heard {
  /** of the call, from 1 */
  readonly number: number;
  readonly isError: boolean;
  readonly reply: unknown;
  readonly at: number;
  readonly template: Template;
}

/** Who makes calls: one delivery of a job, one sweep, one client's story. */
export interface Actor {
  readonly name: string;
  readonly process: Process;
  readonly origin: Origin;
  readonly begunAt: number;
  /** all that it was told so far: with the same code and the same answers it stands where it stood */
  readonly heard: Heard[];
  calls: number;
  ids: number;
  /** the time that it sees while it is told again what it was told then */
  sees: number | undefined;
}

/** One call of a port, held until somebody lets it happen. */
export interface HeldCall {
  readonly actor: Actor;
  /** of the calls of its actor, from 1 */
  readonly number: number;
  readonly room: string;
  readonly operation: string;
  readonly args: readonly unknown[];
  /** it took effect already, and was sent again */
  isResent: boolean;
  /** its effect on what all share, without a reply to the caller */
  readonly act: (shared: Shared) => Promise<unknown>;
  readonly answer: (reply: unknown) => void;
  readonly fail: (error: unknown) => void;
  /** as it was answered in another world; it is noted already */
  readonly answerAgain: (heard: Heard) => void;
}

/** All calls of all actors on their way to store, queue, model and tools. Nothing of them happens before it is released. */
export class HeldCalls {
  readonly #calls: HeldCall[] = [];
  readonly #shared: Shared;
  readonly #clock: { now(): number };
  readonly #tracksReplies: boolean;

  /** @param tracksReplies keeps what every actor heard, at the cost of a hash for each reply */
  constructor(shared: Shared, clock: { now(): number }, tracksReplies: boolean) {
    this.#shared = shared;
    this.#clock = clock;
    this.#tracksReplies = tracksReplies;
  }

  /** oldest first */
  get all(): readonly HeldCall[] {
    return this.#calls;
  }

  /** Puts itself between an actor and every operation of a room. */
  bind<Room extends object>(actor: Actor, room: string, open: (shared: Shared) => Room): Room {
    return new Proxy(open(this.#shared), {
      get: (target, name) => {
        const found: unknown = Reflect.get(target, name);
        if (typeof found !== 'function') return found;
        return (...args: unknown[]) =>
          this.hold(actor, `${room}.${String(name)}`, args, async (shared) => {
            const there = open(shared);
            return Reflect.apply(Reflect.get(there, name) as typeof found, there, args) as unknown;
          });
      },
    });
  }

  hold<T>(actor: Actor, name: string, args: readonly unknown[], act: (shared: Shared) => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    // Of the dead nothing is heard any more.
    if (actor.process.isDead) return promise;
    actor.calls += 1;
    const number = actor.calls;
    const [room = '', operation = ''] = name.split('.');
    const tell = (reply: unknown, isError: boolean): void => (isError ? reject(reply) : resolve(reply as T));
    const conclude = (reply: unknown, isError: boolean): void => {
      if (this.#tracksReplies) this.#note(actor, { number, name, reply, isError });
      tell(reply, isError);
    };
    this.#calls.push({
      actor,
      number,
      room,
      operation,
      args,
      isResent: false,
      act,
      answer: (reply) => conclude(reply, false),
      fail: (error) => conclude(error, true),
      answerAgain: ({ reply, isError }) => tell(reply, isError),
    });
    return promise;
  }

  /** Lets it happen and answers it. @returns what was answered */
  async release(call: HeldCall): Promise<unknown> {
    this.#remove(call);
    try {
      const reply = await call.act(this.#shared);
      call.answer(reply);
      return reply;
    } catch (error) {
      call.fail(error);
      return error;
    }
  }

  /** It takes effect, and whoever called stays without an answer for now. */
  async actUnanswered(call: HeldCall): Promise<unknown> {
    return await call.act(this.#shared).catch((error: unknown) => error);
  }

  /** It comes to nothing, or to nothing more. */
  drop(call: HeldCall): void {
    this.#remove(call);
  }

  fail(call: HeldCall, error: unknown): void {
    this.#remove(call);
    call.fail(error);
  }

  /** The process ends here: none of its calls happens any more, and none is answered. */
  kill(process: Process): void {
    process.isDead = true;
    for (const call of this.#calls.filter(({ actor }) => actor.process === process)) this.#remove(call);
  }

  /** Tells actors that have just begun all that they heard in another world; nothing of it happens again. */
  async retell(actors: readonly Actor[]): Promise<void> {
    for (const actor of actors) actor.sees = actor.begunAt;
    const most = Math.max(0, ...actors.map(({ heard }) => heard.length));
    for (let told = 0; told < most; told += 1) {
      await settle();
      for (const actor of actors) {
        const heard = actor.heard[told];
        if (heard === undefined) continue;
        const call = this.#calls.find((one) => one.actor === actor && one.number === heard.number);
        if (call === undefined) throw new Error(`${actor.name} does not call again as it did`);
        this.#remove(call);
        actor.sees = heard.at;
        call.answerAgain(heard);
      }
    }
    await settle();
    for (const actor of actors) actor.sees = undefined;
  }

  #note(actor: Actor, told: { number: number; name: string; reply: unknown; isError: boolean }): void {
    const { number, name, reply, isError } = told;
    const template = toTemplate(`${number} ${name} ${isError ? String(reply) : toEssence(reply)}`);
    actor.heard.push({ number, isError, reply, at: this.#clock.now(), template });
  }

  #remove(call: HeldCall): void {
    const at = this.#calls.indexOf(call);
    if (at >= 0) this.#calls.splice(at, 1);
  }
}

/** A name that is the same in every run that came here the same way. */
export function nameCall({ actor, number, room, operation }: HeldCall): string {
  return `${actor.name}#${number} ${room}.${operation}`;
}

/** Lets everything run that does not wait for a held call or for time. */
export async function settle(): Promise<void> {
  do {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  } while (!eventLoopShare.isIdle);
}
