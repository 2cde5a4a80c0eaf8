import { eventLoopShare } from '../../src/wire/tokens/event-loop-share.ts';
import type { TakenJob } from './memory-jobs.ts';
import type { Shared } from './shared.ts';
import { toEssence } from './snapshot.ts';
import { type Template, toTemplate } from './templates.ts';

/** A process: all of its actors die together. */
export interface Process {
  readonly name: string;
  isDead: boolean;
}

/** The work of an actor. With it and the replies so far, the actor can be started again at the same point. */
export type Origin =
  | { readonly kind: 'job'; readonly job: TakenJob }
  /** One sweep. With `gone`, the sweeper ends the leases of that worker instead. */
  | { readonly kind: 'sweep'; readonly gone?: string }
  | { readonly kind: 'client'; readonly index: number };

/** The reply to one call of an actor, recorded for a replay. */
export interface RecordedReply {
  /** Position of the call among the calls of its actor, from 1. */
  readonly number: number;
  readonly isError: boolean;
  readonly reply: unknown;
  readonly at: number;
  readonly template: Template;
}

/** A caller of ports: one delivery of a job, one sweep or one client. */
export interface Actor {
  readonly name: string;
  readonly process: Process;
  readonly origin: Origin;
  readonly begunAt: number;
  /** All replies so far. The same code with the same replies is at the same point. */
  readonly replies: RecordedReply[];
  calls: number;
  ids: number;
  /** During a replay: the time of the recorded reply, which the actor sees as now. */
  sees: number | undefined;
}

/** One call of a port. The call is held until the test releases it. */
export interface HeldCall {
  readonly actor: Actor;
  /** Position among the calls of its actor, from 1. */
  readonly number: number;
  readonly room: string;
  readonly operation: string;
  readonly args: readonly unknown[];
  /** The call has already taken effect, and was sent again. */
  isResent: boolean;
  /** Applies the call to the shared stores and queues, without a reply to the caller. */
  readonly act: (shared: Shared) => Promise<unknown>;
  readonly answer: (reply: unknown) => void;
  readonly fail: (error: unknown) => void;
  /** Replays a reply without recording it again. */
  readonly replay: (recorded: RecordedReply) => void;
}

/** Stands between all actors and the stores, queues, models and tools. No call takes effect before it is released. */
export class HeldCalls {
  readonly #calls: HeldCall[] = [];
  readonly #shared: Shared;
  readonly #clock: { now(): number };
  readonly #recordsReplies: boolean;

  /** @param recordsReplies keeps each actor's replies for `replay`, which costs a hash per reply */
  constructor(shared: Shared, clock: { now(): number }, recordsReplies: boolean) {
    this.#shared = shared;
    this.#clock = clock;
    this.#recordsReplies = recordsReplies;
  }

  /** Oldest first. */
  get all(): readonly HeldCall[] {
    return this.#calls;
  }

  /** Wraps every operation of a port, so that its calls are held. */
  bind<Room extends object>(actor: Actor, room: string, open: (shared: Shared) => Room): Room {
    return new Proxy(open(this.#shared), {
      get: (target, name) => {
        const found: unknown = Reflect.get(target, name);
        if (typeof found !== 'function') return found;
        return (...args: unknown[]) =>
          this.hold(actor, `${room}.${String(name)}`, args, async (shared) => {
            const port = open(shared);
            return Reflect.apply(Reflect.get(port, name) as typeof found, port, args) as unknown;
          });
      },
    });
  }

  /** A dead process gets a promise that never settles. */
  hold<T>(actor: Actor, name: string, args: readonly unknown[], act: (shared: Shared) => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    if (actor.process.isDead) return promise;
    actor.calls += 1;
    const number = actor.calls;
    const [room = '', operation = ''] = name.split('.');
    const reply = (value: unknown, isError: boolean): void => (isError ? reject(value) : resolve(value as T));
    const conclude = (value: unknown, isError: boolean): void => {
      if (this.#recordsReplies) {
        const template = toTemplate(`${number} ${name} ${isError ? String(value) : toEssence(value)}`);
        actor.replies.push({ number, isError, reply: value, at: this.#clock.now(), template });
      }
      reply(value, isError);
    };
    this.#calls.push({
      actor,
      number,
      room,
      operation,
      args,
      isResent: false,
      act,
      answer: (value) => conclude(value, false),
      fail: (error) => conclude(error, true),
      replay: (recorded) => reply(recorded.reply, recorded.isError),
    });
    return promise;
  }

  /** Lets the call take effect and replies to its actor. @returns the reply or the error */
  async release(call: HeldCall): Promise<unknown> {
    this.drop(call);
    try {
      const reply = await call.act(this.#shared);
      call.answer(reply);
      return reply;
    } catch (error) {
      call.fail(error);
      return error;
    }
  }

  /** Lets the call take effect without a reply. The call stays held. */
  async actUnanswered(call: HeldCall): Promise<unknown> {
    return await call.act(this.#shared).catch((error: unknown) => error);
  }

  drop(call: HeldCall): void {
    const at = this.#calls.indexOf(call);
    if (at >= 0) this.#calls.splice(at, 1);
  }

  fail(call: HeldCall, error: unknown): void {
    this.drop(call);
    call.fail(error);
  }

  /** Ends a process: its held calls neither take effect nor get a reply. */
  kill(process: Process): void {
    process.isDead = true;
    for (const call of this.#calls.filter(({ actor }) => actor.process === process)) this.drop(call);
  }

  /** Brings restarted actors back to their saved point: they receive their recorded replies, and no call takes effect. */
  async replay(actors: readonly Actor[]): Promise<void> {
    for (const actor of actors) actor.sees = actor.begunAt;
    const most = Math.max(0, ...actors.map(({ replies }) => replies.length));
    for (let index = 0; index < most; index += 1) {
      await settle();
      for (const actor of actors) {
        const recorded = actor.replies[index];
        if (recorded === undefined) continue;
        const call = this.#calls.find((one) => one.actor === actor && one.number === recorded.number);
        if (call === undefined) throw new Error(`${actor.name} did not repeat its call ${recorded.number}`);
        this.drop(call);
        actor.sees = recorded.at;
        call.replay(recorded);
      }
    }
    await settle();
    for (const actor of actors) actor.sees = undefined;
  }
}

/** A name that is the same in every run that reaches the call by the same path. */
export function nameCall({ actor, number, room, operation }: HeldCall): string {
  return `${actor.name}#${number} ${room}.${operation}`;
}

/** Runs all code that waits neither for a held call nor for the clock. */
export async function settle(): Promise<void> {
  do {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  } while (!eventLoopShare.isIdle);
}
