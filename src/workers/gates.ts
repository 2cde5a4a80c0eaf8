import type { EventListener } from '../domain/events.ts';
import type { GatedModel, GatedRequest, GateSettings, ModelGate } from '../domain/gate.ts';
import { HeldCall } from '../domain/held-call.ts';
import { isModelError } from '../domain/model.ts';
import type { Clock } from '../domain/ports/clock.ts';
import type { GateReport, GateStore } from '../domain/ports/gate-store.ts';
import type { Timers } from './timers.ts';

/** ms between two looks at the gates that other workers found limited. A worker finds the others by its own calls. */
const REFRESH_EVERY_MS = 60_000;
const HOLD_EVERY_MS = 20_000;
/** A call that has to wait no longer than this waits here. Another turn would take as long to claim the worker's slot. */
const AT_GATE_MS = 1_000;
/** Each wait is longer by up to this share, so that those who wait do not all come back at once. */
const JITTER = 0.1;

export interface GatesOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly onEvent: EventListener;
  /** Returns a number from 0 to 1. */
  readonly random?: () => number;
}

/**
 * The gates of models, as this process knows them. While no provider refuses a call, and for a model without limits of its
 * own, a call costs nothing. From the first refusal on, every call of the model asks the gate in Redis. While Redis is
 * down, calls pass.
 */
export class Gates {
  readonly #options: GatesOptions;
  /** Gates that hold calls, as far as this process knows. */
  readonly #limited = new Set<string>();
  /** Callers in progress, by gate, whose places this process renews. */
  readonly #inside = new Map<string, Set<string>>();
  #store: GateStore | undefined;
  #timers: readonly { stop(): void }[] = [];

  constructor(options: GatesOptions) {
    this.#options = options;
  }

  /** Reads which gates hold calls now, and then every minute until `stop`. */
  async start(store: GateStore): Promise<void> {
    const { timers } = this.#options;
    this.#store = store;
    await this.#refresh(store);
    this.#timers = [
      timers.every(REFRESH_EVERY_MS, () => this.#refresh(store)),
      timers.every(HOLD_EVERY_MS, () => this.#holdPlaces(store)),
    ];
  }

  stop(): void {
    for (const timer of this.#timers) timer.stop();
    this.#store = undefined;
  }

  /** @param waiter the turn or summary that makes the calls */
  gateFor(waiter: string): ModelGate {
    return {
      pass: async (model, request, call) => {
        const caller = { name: nameGate(model), waiter, model };
        await this.#enter(caller, request);
        return await this.#callInside(caller, call);
      },
    };
  }

  async #enter({ name, waiter, model }: Caller, { tokens, signal }: GatedRequest): Promise<void> {
    const { gate: settings } = model;
    if (!this.#limited.has(name) && !hasLimits(settings)) return;
    const { name: _, ...limits } = settings ?? {};
    for (;;) {
      const passage = await this.#ask((store) => store.enterGate({ gate: name, waiter, tokens, ...limits }));
      if (passage?.status === 'open') this.#limited.delete(name);
      if (passage?.status !== 'held') return;
      if (passage.waitMs > AT_GATE_MS) throw new HeldCall(model.profile.id, this.#dueAfter(passage.waitMs));
      await new Promise<void>((wake) => this.#options.timers.after(passage.waitMs, wake));
      signal.throwIfAborted();
    }
  }

  async #callInside<Answer>(caller: Caller, call: () => Promise<Answer>): Promise<Answer> {
    const { name, waiter, model } = caller;
    const startedAt = this.#options.clock.now();
    const inside = model.gate?.concurrent === undefined ? undefined : this.#insideOf(name).add(waiter);
    try {
      const answer = await call();
      this.#report(caller, startedAt, 'answered');
      return answer;
    } catch (error) {
      if (!isModelError(error, 'retry') || !error.isLimit) {
        this.#report(caller, startedAt, 'failed');
        throw error;
      }
      this.#limited.add(name);
      const { retryAt = 0 } = error;
      const retryAfterMs = error.retryAt === undefined ? undefined : Math.max(0, retryAt - this.#options.clock.now());
      const report = this.#describe(caller, startedAt, 'limited');
      const waitMs = await this.#ask((store) => store.leaveGate({ ...report, retryAfterMs }));
      if (waitMs === undefined) throw error;
      throw new HeldCall(model.profile.id, Math.max(retryAt, this.#dueAfter(waitMs)), error);
    } finally {
      inside?.delete(waiter);
    }
  }

  #insideOf(name: string): Set<string> {
    const inside = this.#inside.get(name) ?? new Set();
    this.#inside.set(name, inside);
    return inside;
  }

  /** Reports the end of a call to a gate that counts calls. The caller does not wait for the report. */
  #report(caller: Caller, startedAt: number, outcome: GateReport['outcome']): void {
    if (!this.#limited.has(caller.name) && !hasLimits(caller.model.gate)) return;
    void this.#ask((store) => store.leaveGate(this.#describe(caller, startedAt, outcome)));
  }

  #describe({ name: gate, waiter }: Caller, startedAt: number, outcome: GateReport['outcome']): GateReport {
    return { gate, waiter, outcome, callMs: Math.max(0, this.#options.clock.now() - startedAt) };
  }

  #dueAfter(waitMs: number): number {
    const { clock, random = Math.random } = this.#options;
    return clock.now() + Math.ceil(waitMs * (1 + JITTER * random()));
  }

  async #refresh(store: GateStore): Promise<void> {
    const gates = await this.#ask(() => store.listGates());
    for (const { gate } of gates ?? []) this.#limited.add(gate);
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
}

function nameGate({ gate, profile }: GatedModel): string {
  return gate?.name ?? profile.id;
}

function hasLimits({ requestsPerMinute, tokensPerMinute, concurrent }: GateSettings = {}): boolean {
  return (requestsPerMinute ?? tokensPerMinute ?? concurrent) !== undefined;
}
