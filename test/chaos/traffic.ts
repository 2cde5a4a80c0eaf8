import { setTimeout as sleep } from 'node:timers/promises';
import { type OpenClient, openClient } from '../../src/api/client/index.ts';
import { isTurnfoldError } from '../../src/domain/errors.ts';
import { isSettled, ON_BUSY_VALUES, type TurnView } from '../../src/domain/turn.ts';
import type { Random } from '../setup/random.ts';
import { AGENT, CUSTOMER, PLANS } from './agent.ts';

export interface TrafficOptions {
  readonly redisUrl: string;
  readonly shards: number;
  readonly conversations: number;
  readonly turns: number;
  readonly random: Random;
}

/** A turn whose acceptance was acknowledged to the service. */
export interface AcceptedTurn {
  readonly conversation: string;
  readonly turn: string;
  /** A delayed turn enters the mailbox at its due time. */
  readonly isDelayed: boolean;
  /** True if turns of the conversation may take the place of others, or enter them. */
  readonly isBusy: boolean;
}

/** Share of turns that are canceled soon after their acceptance. */
const CANCEL_SHARE = 0.05;
/** One conversation in so many has impatient users. */
const BUSY_EVERY = 4;
/** Share of the turns of an impatient user that do not wait for the turns before. */
const BUSY_SHARE = 0.3;
/** Share of approvals that a person denies. */
const DENIED_SHARE = 0.3;
/** Share of turns before which the service appends messages and requests passes itself. */
const MANUAL_SHARE = 0.03;
const PAUSE_MS = 50;
const WAIT_MS = 1_000;
const PASS_WAIT_MS = 5_000;
const CANCEL = { least: 0, most: 1_000 };
const MOST_WORK_AHEAD = 4;
/** Codes that a retry cannot change. They mean a defect of this test. */
const LASTING = new Set(['invalid_input', 'turn_conflict', 'agent_conflict', 'message_too_large']);

/** Codes that end a call without an answer. */
const REFUSED = new Set(['not_found', 'conversation_busy']);

interface Following {
  /** Time after which the turn is canceled, in ms. */
  readonly cancelMs: number | undefined;
  /** True if the person denies the calls of the turn. */
  readonly isDenied: boolean;
}

/** Services that enqueue turns, answer calls and approve. Each call is repeated with the same ids until it succeeds. */
export class Traffic {
  /** In order within each conversation. */
  readonly accepted: AcceptedTurn[] = [];
  /** Calls that a person denied, as `conversation/call`. */
  readonly denied = new Set<string>();
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

  /** Resolves when every turn is accepted and settled, or after `stop`. */
  async run(): Promise<void> {
    const { conversations, random } = this.#options;
    const talks = Array.from({ length: conversations }, (_, index) =>
      this.#talk(`c${index}`, random.fork(), index % BUSY_EVERY === 0),
    );
    await Promise.all(talks);
  }

  /** Accepts no new turns. Turns in flight are served to their end. */
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

  async #talk(conversation: string, random: Random, isBusy: boolean): Promise<void> {
    const pinned = { role: 'user' as const, content: `${CUSTOMER} ${conversation}.`, pinned: true };
    const first = { conversation, agent: AGENT, operation: 'first', messages: [pinned] };
    await this.#retry(() => this.#client.append(first));
    let unsettled: Promise<void>[] = [];
    for (let number = 0; this.#left > 0 && !this.#isOver; number += 1) {
      this.#left -= 1;
      const turn = `t${number}`;
      if (random.chance(MANUAL_SHARE)) {
        await Promise.all(unsettled);
        unsettled = [];
        await this.#compactManually(conversation, number);
      }
      const isDelayed = random.chance(0.05);
      const input = {
        conversation,
        turn,
        agent: AGENT,
        input: `turn ${number} of ${conversation}: ${random.pick(PLANS)}`,
      };
      const onBusy = isBusy && !isDelayed && random.chance(BUSY_SHARE) ? random.pick(ON_BUSY_VALUES) : 'enqueue';
      const given = isDelayed ? { ...input, delayMs: random.between(100, 3_000) } : { ...input, onBusy };
      const enqueue = () => this.#retry(() => this.#client.enqueueTurn(given));
      // Some services send the same turn twice, at the same time or later.
      const sent = await Promise.all(random.chance(0.1) ? [enqueue(), enqueue()] : [enqueue()]);
      if (sent.every((answer) => answer === undefined)) {
        this.#left += 1; // the conversation was busy, and the turn was refused
        continue;
      }
      this.accepted.push({ conversation, turn, isDelayed, isBusy });
      const cancelMs = random.chance(CANCEL_SHARE) ? random.between(CANCEL.least, CANCEL.most) : undefined;
      unsettled.push(this.#follow(conversation, turn, { cancelMs, isDenied: random.chance(DENIED_SHARE) }));
      if (random.chance(0.05)) await enqueue();
      if (unsettled.length >= random.between(1, MOST_WORK_AHEAD)) await unsettled.shift();
    }
    await Promise.all(unsettled);
  }

  /** Requests two passes. The next turn arrives during the second pass, and may have to roll back a refused version. */
  async #compactManually(conversation: string, number: number): Promise<void> {
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

  async #follow(conversation: string, turn: string, { cancelMs, isDenied }: Following): Promise<void> {
    if (cancelMs !== undefined) {
      await sleep(cancelMs);
      await this.#retry(() => this.#client.cancel(conversation, turn));
    }
    while (!this.#isOver) {
      const view = await this.#retry(() => this.#client.result(conversation, turn, { waitMs: WAIT_MS }));
      if (view === undefined || isSettled(view.state)) return;
      await this.#serve(conversation, view, isDenied);
    }
  }

  /** Answers the calls or the approval that the turn waits for. The same turn gets the same decision each time. */
  async #serve(conversation: string, { turn, waiting }: TurnView, isDenied: boolean): Promise<void> {
    if (waiting === undefined || (waiting.for !== 'tools' && waiting.for !== 'approval')) return;
    const answer = waiting.for === 'tools' ? { content: 'The person says yes.' } : { approved: !isDenied };
    const answers = Object.fromEntries(waiting.calls.map(({ id, hash }) => [id, { ...answer, hash }]));
    if (waiting.calls.length === 0) return;
    try {
      await this.#client.answer(conversation, turn, answers);
    } catch {
      return; // the caller tries again
    }
    if (waiting.for === 'approval' && isDenied)
      for (const { id } of waiting.calls) this.denied.add(`${conversation}/${id}`);
  }

  /**
   * @returns undefined after `stop`, for a refused turn, or if the record is missing. The final checks report a missing
   * record.
   */
  async #retry<Result>(call: () => Promise<Result>): Promise<Result | undefined> {
    while (!this.#isOver) {
      try {
        return await call();
      } catch (error) {
        if (isTurnfoldError(error) && REFUSED.has(error.code)) return undefined;
        if (isTurnfoldError(error) && LASTING.has(error.code)) throw error;
        await sleep(PAUSE_MS);
      }
    }
    return undefined;
  }
}
