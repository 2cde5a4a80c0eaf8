import { createHash } from 'node:crypto';
import { toEssence } from './snapshot.ts';

/** Actors that live and die together. */
export interface Process {
  readonly name: string;
  isDead: boolean;
}

/** Who makes calls: one delivery of a job, one sweep, one client's story. */
export interface Actor {
  readonly name: string;
  readonly process: Process;
  /** all that it was told so far, as a hash: with the same code and the same replies it stands where it stood */
  seen: string;
  calls: number;
  ids: number;
}

/** One call of a port, held until somebody lets it happen. */
export interface HeldCall {
  readonly actor: Actor;
  /** of the calls of its actor, from 1 */
  readonly number: number;
  readonly room: string;
  readonly operation: string;
  readonly args: readonly unknown[];
  /** its effect, without a reply to the caller */
  readonly act: () => Promise<unknown>;
  readonly answer: (reply: unknown) => void;
  readonly fail: (error: unknown) => void;
}

/** All calls of all actors on their way to store, queue, model and tools. Nothing of them happens before it is released. */
export class HeldCalls {
  readonly #calls: HeldCall[] = [];
  readonly #clock: { now(): number };
  readonly #tracksReplies: boolean;

  /** @param tracksReplies keeps `seen` of every actor, at the cost of a hash for each reply */
  constructor(clock: { now(): number }, tracksReplies: boolean) {
    this.#clock = clock;
    this.#tracksReplies = tracksReplies;
  }

  /** oldest first */
  get all(): readonly HeldCall[] {
    return this.#calls;
  }

  /** Puts itself between an actor and every operation of a room. */
  bind<Room extends object>(actor: Actor, room: string, target: Room): Room {
    return new Proxy(target, {
      get: (_, name) => {
        const found: unknown = Reflect.get(target, name);
        if (typeof found !== 'function') return found;
        return (...args: unknown[]) =>
          this.hold(actor, `${room}.${String(name)}`, args, async () => Reflect.apply(found, target, args) as unknown);
      },
    });
  }

  hold<T>(actor: Actor, name: string, args: readonly unknown[], act: () => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    // Of the dead nothing is heard any more.
    if (actor.process.isDead) return promise;
    actor.calls += 1;
    const [room = '', operation = ''] = name.split('.');
    this.#calls.push({
      actor,
      number: actor.calls,
      room,
      operation,
      args,
      act,
      answer: (reply) => this.#conclude(actor, name, reply, () => resolve(reply as T)),
      fail: (error) => this.#conclude(actor, name, String(error), () => reject(error)),
    });
    return promise;
  }

  /** Lets it happen and answers it. @returns what was answered */
  async release(call: HeldCall): Promise<unknown> {
    this.#remove(call);
    try {
      const reply = await call.act();
      call.answer(reply);
      return reply;
    } catch (error) {
      call.fail(error);
      return error;
    }
  }

  /** It takes effect, and whoever called stays without an answer for now. */
  async actUnanswered(call: HeldCall): Promise<unknown> {
    return await call.act().catch((error: unknown) => error);
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

  #conclude(actor: Actor, name: string, reply: unknown, tell: () => void): void {
    if (this.#tracksReplies) {
      const heard = `${actor.seen} ${name} ${this.#clock.now()} ${toEssence(reply)}`;
      actor.seen = createHash('md5').update(heard).digest('base64');
    }
    tell();
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
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
}
