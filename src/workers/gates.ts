import type { Clock } from '../domain/clock.ts';
import type { EventListener } from '../domain/events.ts';
import type { GatedAnswer, GatedModel, GatedRequest, GateSettings, ModelGate } from '../domain/gate.ts';
import { HeldCall } from '../domain/held-call.ts';
import { isModelError, type ModelError } from '../domain/model.ts';
import { readModelError } from '../domain/model-answer.ts';
import type { GateReport, GateStore } from '../store/gates.ts';
import type { Timers } from './timers.ts';

/** ms for which this process uses its last reading of the limited gates. A reading is one small command. */
const LOOK_MS = 1_000;
/** ms after which a call stops waiting for a reading of the limited gates, and passes. */
const LOOK_ANSWERS_MS = 250;
const HOLD_EVERY_MS = 20_000;
/** ms that a model call may wait in its worker for the provider's limit. Meanwhile it blocks a slot of the worker. */
const AT_GATE_MS = 1_000;
/** A call that waits longer than `AT_GATE_MS` leaves its worker. Jitter is a share of the wait, at most so many ms. */
const [JITTER, MOST_JITTER_MS] = [0.1, 1_000];

interface GatesOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly onEvent: EventListener;
  /** Random number from 0 to 1. */
  readonly random?: () => number;
}

/**
 * The gates of models, as this process knows them. A gate is the shared pause and rate of one model, which every worker
 * obeys. While nothing limits calls, a process that makes calls costs Redis one small command a second. After a
 * refusal, or an answer that used up the account's calls, every call asks the gate in Redis. Other processes learn of
 * the limited gate within a second. While Redis is down, calls pass.
 */
export class Gates {
  readonly #options: GatesOptions;
  readonly #limited = new Set<string>();
  /** Turns and summaries in a call, by gate. This process renews their places at the gate. */
  readonly #inside = new Map<string, Set<string>>();
  readonly #credit = new RefusalCredit();
  #store: GateStore | undefined;
  #holding: { stop(): void } | undefined;
  #look: Promise<void> | undefined;
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(options: GatesOptions) {
    this.#options = options;
  }

  start(store: GateStore): void {
    this.#store = store;
    this.#holding = this.#options.timers.every(HOLD_EVERY_MS, () => this.#holdPlaces(store));
  }

  stop(): void {
    this.#holding?.stop();
    this.#store = undefined;
  }

  /** @param waiter the turn or summary that makes the calls, one at a time */
  gateFor(waiter: string): ModelGate {
    /** Gates at which this turn or summary waits. The waiter leaves a gate when it calls another model. */
    const held = new Set<string>();
    return {
      pass: async (model, request, call) => {
        const caller = { name: nameGate(model), waiter, model, held };
        await this.#enter(caller, request);
        this.#leaveOthers(caller);
        return await this.#callInside(caller, call);
      },
    };
  }

  async #enter(caller: Caller, { tokens, signal }: GatedRequest): Promise<void> {
    const { name, waiter, model, held } = caller;
    const { gate: settings } = model;
    await this.#refresh();
    if (!this.#limited.has(name) && !hasLimits(settings)) return;
    const { name: _, ...limits } = settings ?? {};
    const { clock } = this.#options;
    const until = clock.now() + AT_GATE_MS;
    for (;;) {
      const patienceMs = Math.max(0, until - clock.now());
      const entry = { gate: name, waiter, tokens, patienceMs, ...limits };
      const passage = await this.#ask((store) => store.enterGate(entry));
      if (passage?.status === 'open') this.#limited.delete(name);
      if (passage?.status !== 'held') return;
      const { waitMs } = passage;
      if (waitMs > patienceMs) {
        held.add(name);
        throw new HeldCall(model.profile.id, this.#dueAfter(waitMs));
      }
      await this.#wait(waitMs, signal);
      if (signal.aborted) {
        this.#report(caller, 'left');
        throw signal.reason;
      }
    }
  }

  #leaveOthers({ name, held, ...caller }: Caller): void {
    held.delete(name);
    for (const other of held) this.#report({ ...caller, name: other, held }, 'left');
    held.clear();
  }

  async #callInside<Answer extends GatedAnswer>(caller: Caller, call: () => Promise<Answer>): Promise<Answer> {
    const { name, waiter, model } = caller;
    const { clock } = this.#options;
    const startedAt = clock.now();
    this.#credit.noteCall(name);
    const inside = model.gate?.concurrent === undefined ? undefined : this.#insideOf(name).add(waiter);
    try {
      const answer = await call();
      this.#reportAnswer(caller, clock.now() - startedAt, answer);
      return answer;
    } catch (error) {
      // A model can be user code, so the retry times in its errors are possibly not numbers.
      const read = isModelError(error, 'retry') ? readModelError(error, clock.now()) : undefined;
      if (read?.isLimit !== true) {
        if (this.#countsCalls(caller)) this.#report(caller, 'failed', clock.now() - startedAt);
        throw error;
      }
      throw (await this.#reportRefusal(caller, read, clock.now() - startedAt)) ?? error;
    } finally {
      inside?.delete(waiter);
    }
  }

  async #reportRefusal(
    { name, waiter, model, held }: Caller,
    refusal: ModelError,
    callMs: number,
  ): Promise<HeldCall | undefined> {
    const { retryAt } = refusal;
    const isAlone = retryAt === undefined && this.#credit.spend(name);
    if (isAlone && !this.#limited.has(name) && !hasLimits(model.gate)) return undefined;
    this.#limited.add(name);
    const report: GateReport = {
      gate: name,
      waiter,
      outcome: isAlone ? 'refused' : 'limited',
      callMs: Math.max(0, callMs),
      retryAfterMs: retryAt === undefined ? undefined : Math.max(0, retryAt - this.#options.clock.now()),
    };
    const waitMs = await this.#ask((store) => store.leaveGate(report));
    if (waitMs === undefined) return undefined;
    held.add(name);
    return new HeldCall(model.profile.id, this.#dueAfter(waitMs), refusal);
  }

  #insideOf(name: string): Set<string> {
    const inside = this.#inside.get(name) ?? new Set();
    this.#inside.set(name, inside);
    return inside;
  }

  /** An answer that used up the account's calls closes the gate before the provider refuses a call. */
  #reportAnswer(caller: Caller, callMs: number, { nextCallAt = 0 }: GatedAnswer): void {
    const retryAfterMs = nextCallAt - this.#options.clock.now();
    const isUsedUp = retryAfterMs > 0;
    if (isUsedUp) this.#limited.add(caller.name);
    if (this.#countsCalls(caller)) this.#report(caller, 'answered', callMs, isUsedUp ? retryAfterMs : undefined);
  }

  #countsCalls({ name, model }: Caller): boolean {
    return this.#limited.has(name) || hasLimits(model.gate);
  }

  #report({ name: gate, waiter }: Caller, outcome: GateReport['outcome'], callMs = 0, retryAfterMs?: number): void {
    void this.#ask((store) => store.leaveGate({ gate, waiter, outcome, callMs: Math.max(0, callMs), retryAfterMs }));
  }

  #dueAfter(waitMs: number): number {
    const { clock, random = Math.random } = this.#options;
    return clock.now() + Math.ceil(waitMs + Math.min(waitMs * JITTER, MOST_JITTER_MS) * random());
  }

  async #wait(ms: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = (): void => resolve();
    const timer = this.#options.timers.after(ms, wake);
    signal.addEventListener('abort', wake, { once: true });
    if (signal.aborted) wake();
    await promise;
    timer.stop();
    signal.removeEventListener('abort', wake);
  }

  /** Reads which gates are limited. Calls at the same time share one reading. */
  async #refresh(): Promise<void> {
    const now = this.#options.clock.now();
    if (now - this.#lookedAt >= LOOK_MS) {
      this.#lookedAt = now;
      this.#look = this.#lookNow();
    }
    if (this.#look === undefined) return;
    const silence = Promise.withResolvers<void>();
    const timer = this.#options.timers.after(LOOK_ANSWERS_MS, silence.resolve);
    await Promise.race([this.#look, silence.promise]);
    timer.stop();
  }

  async #lookNow(): Promise<void> {
    for (const name of (await this.#ask((store) => store.nameGates())) ?? []) this.#limited.add(name);
    this.#look = undefined;
  }

  async #holdPlaces(store: GateStore): Promise<void> {
    for (const [gate, waiters] of this.#inside) await this.#ask(() => store.holdPlaces(gate, [...waiters]));
  }

  async #ask<Reply>(act: (store: GateStore) => Promise<Reply>): Promise<Reply | undefined> {
    if (this.#store === undefined) return undefined;
    try {
      return await act(this.#store);
    } catch (error) {
      this.#options.onEvent({ type: 'worker_failed', where: 'gate', error });
      return undefined;
    }
  }
}

interface Caller {
  readonly name: string;
  readonly waiter: string;
  readonly model: GatedModel;
  readonly held: Set<string>;
}

function nameGate({ gate, profile }: GatedModel): string {
  return gate?.name ?? profile.id;
}

function hasLimits({ requestsPerMinute, tokensPerMinute, concurrent }: GateSettings = {}): boolean {
  return (requestsPerMinute ?? tokensPerMinute ?? concurrent) !== undefined;
}

const [CALL, REFUSED, MOST] = [1, 21, 60];

/**
 * Distinguishes refusals by a rate limit from refusals at a busy moment. A healthy provider refuses some calls at
 * random, and names no time for a retry. If more than 20 other calls were made for each refusal, a refusal concerns
 * only its own call. If each refusal paused the gate, 2 % of refusals would lower 100 calls a second to about 10. Calls
 * count when they begin, because an answer may take minutes, whereas a refusal comes at once.
 */
export class RefusalCredit {
  readonly #credits = new Map<string, number>();

  noteCall(model: string): void {
    const credit = this.#creditOf(model);
    if (credit < MOST) this.#credits.set(model, credit + CALL);
  }

  /** @returns true if the refusal concerns only its own call */
  spend(model: string): boolean {
    const credit = this.#creditOf(model);
    if (credit < REFUSED) return false;
    this.#credits.set(model, credit - REFUSED);
    return true;
  }

  #creditOf(model: string): number {
    return this.#credits.get(model) ?? 0;
  }
}
