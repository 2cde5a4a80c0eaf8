import { setTimeout as sleep } from 'node:timers/promises';
import { type OpenClient, openClient } from '../../src/client/index.ts';
import { isTurnfoldError } from '../../src/domain/errors.ts';
import { isSettled, type TurnView } from '../../src/domain/turn.ts';
import type { Random } from '../setup/random.ts';
import { AGENT, CUSTOMER, PLANS } from './agent.ts';

export interface TrafficOptions {
  readonly redisUrl: string;
  readonly shards: number;
  readonly conversations: number;
  readonly turns: number;
  /** share of turns that are canceled soon after they are accepted */
  readonly cancels: number;
  /** share of turns before which a caller with a loop of its own appends, and asks for passes */
  readonly byHand: number;
  readonly random: Random;
}

/** A turn that somebody was told is accepted. */
export interface AcceptedTurn {
  readonly conversation: string;
  readonly turn: string;
  /** it takes its place when it is due, not when it was accepted */
  readonly isDelayed: boolean;
}

const PAUSE_MS = 50;
const WAIT_MS = 1_000;
const PASS_WAIT_MS = 5_000;
const CANCEL = { least: 0, most: 1_000 };
const MOST_WORK_AHEAD = 4;
/** A refusal that another try would meet again: the harness itself is wrong. */
const LASTING = new Set(['invalid_input', 'turn_conflict', 'agent_conflict', 'message_too_large']);

/** Services that enqueue turns and bring what is waited for; each call is made again, with the same ids, until it is answered. */
export class Traffic {
  /** in the order of each conversation */
  readonly accepted: AcceptedTurn[] = [];
  readonly #options: TrafficOptions;
  readonly #client: OpenClient;
  #left: number;
  #isOver = false;

  private constructor(client: OpenClient, options: TrafficOptions) {
    this.#client = client;
    this.#options = options;
    this.#left = options.turns;
  }

  static async open(options: TrafficOptions): Promise<Traffic> {
    const { redisUrl, shards } = options;
    return new Traffic(await openClient({ redisUrl, shards, onError: () => undefined }), options);
  }

  /** Ends when every turn is accepted and settled, or after `stop`. */
  async run(): Promise<void> {
    const { conversations, random } = this.#options;
    await Promise.all(Array.from({ length: conversations }, (_, index) => this.#talk(`c${index}`, random.fork())));
  }

  /** No new turns; those under way are followed to their ends. */
  endIntake(): void {
    this.#left = 0;
  }

  stop(): void {
    this.#isOver = true;
  }

  async close(): Promise<void> {
    this.#isOver = true;
    await this.#client.close();
  }

  async #talk(conversation: string, random: Random): Promise<void> {
    const pinned = { role: 'user' as const, content: `${CUSTOMER} ${conversation}.`, pinned: true };
    const first = { conversation, agent: AGENT, operation: 'first', messages: [pinned] };
    await this.#retry(() => this.#client.append(first));
    let unsettled: Promise<void>[] = [];
    for (let number = 0; this.#left > 0 && !this.#isOver; number += 1) {
      this.#left -= 1;
      const turn = `t${number}`;
      if (random.chance(this.#options.byHand)) {
        await Promise.all(unsettled);
        unsettled = [];
        await this.#compactByHand(conversation, number);
      }
      const isDelayed = random.chance(0.05);
      const input = {
        conversation,
        turn,
        agent: AGENT,
        input: `turn ${number} of ${conversation}: ${random.pick(PLANS)}`,
      };
      const given = isDelayed ? { ...input, delayMs: random.between(100, 3_000) } : input;
      const enqueue = () => this.#retry(() => this.#client.enqueueTurn(given));
      // Some ask twice, at the same time or later.
      await (random.chance(0.1) ? Promise.all([enqueue(), enqueue()]) : enqueue());
      this.accepted.push({ conversation, turn, isDelayed });
      const cancelMs = random.chance(this.#options.cancels) ? random.between(CANCEL.least, CANCEL.most) : undefined;
      unsettled.push(this.#follow(conversation, turn, cancelMs));
      if (random.chance(0.05)) await enqueue();
      if (unsettled.length >= random.between(1, MOST_WORK_AHEAD)) await unsettled.shift();
    }
    await Promise.all(unsettled);
  }

  /** Two passes, the second one under way when the next turn comes: a version may be refused, and rolled back, under it. */
  async #compactByHand(conversation: string, number: number): Promise<void> {
    for (const [part, groups] of [
      ['a', 3],
      ['b', 2],
    ] as const) {
      const operation = `hand-${number}-${part}`;
      const asked = { role: 'user' as const, content: `What of ${operation} in ${conversation}?` };
      const said = (place: number) => ({
        role: 'assistant' as const,
        content: `${operation} ${place} of ${conversation}: ${'nothing new was found in the files. '.repeat(22)}`,
      });
      const messages = Array.from({ length: groups }, (_, place) => [
        asked,
        said(2 * place),
        said(2 * place + 1),
      ]).flat();
      await this.#retry(() => this.#client.append({ conversation, agent: AGENT, operation, messages }));
      await this.#retry(() => this.#client.compact(conversation));
      if (part === 'a') await this.#untilPassEnds(conversation);
    }
  }

  async #untilPassEnds(conversation: string): Promise<void> {
    const until = Date.now() + PASS_WAIT_MS;
    while (Date.now() < until) {
      const state = await this.#retry(() => this.#client.describe(conversation));
      if (state?.passId === undefined) return;
      await sleep(PAUSE_MS);
    }
  }

  async #follow(conversation: string, turn: string, cancelMs: number | undefined): Promise<void> {
    if (cancelMs !== undefined) {
      await sleep(cancelMs);
      await this.#retry(() => this.#client.cancel(conversation, turn));
    }
    while (!this.#isOver) {
      const view = await this.#retry(() => this.#client.result(conversation, turn, { waitMs: WAIT_MS }));
      if (view === undefined || isSettled(view.state)) return;
      await this.#serve(conversation, view);
    }
  }

  /** Brings what a turn waits for. */
  async #serve(conversation: string, { turn, waiting }: TurnView): Promise<void> {
    if (waiting === undefined || (waiting.for !== 'tools' && waiting.for !== 'approval')) return;
    const answer = waiting.for === 'tools' ? { content: 'The person says yes.' } : { approved: true };
    const answers = Object.fromEntries(waiting.calls.map(({ id }) => [id, answer]));
    if (waiting.calls.length === 0) return;
    // Answered meanwhile, or no longer waited for: the next look tells.
    await this.#client.answer(conversation, turn, answers).catch(() => undefined);
  }

  /** Undefined after `stop`, and of what is not there any more: the checks will say so. */
  async #retry<Result>(call: () => Promise<Result>): Promise<Result | undefined> {
    while (!this.#isOver) {
      try {
        return await call();
      } catch (error) {
        if (isTurnfoldError(error, 'not_found')) return undefined;
        if (isTurnfoldError(error) && LASTING.has(error.code)) throw error;
        await sleep(PAUSE_MS);
      }
    }
    return undefined;
  }
}
