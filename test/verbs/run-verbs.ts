// oxlint-disable vitest/no-standalone-expect -- the methods run inside a test
import * as fc from 'fast-check';
import { expect } from 'vitest';
import type { CallAnswer } from '../../src/api/client/index.ts';
import { isTurnfoldError } from '../../src/domain/errors.ts';
import { isSettled, ON_BUSY_VALUES, type OnBusy } from '../../src/domain/turn.ts';
import { type Expected, isHeld, KINDS, type Kind, Oracle } from './oracle.ts';
import { labelOf, type World } from './world.ts';

/** A call of the client. `pick` chooses among the turns or versions of that moment. */
export type Verb =
  | { readonly verb: 'enqueue'; readonly kind: Kind; readonly onBusy: OnBusy }
  | { readonly verb: 'answer'; readonly isApproved: boolean }
  | { readonly verb: 'cancel'; readonly pick: number }
  | { readonly verb: 'rollBackTurn'; readonly pick: number }
  | { readonly verb: 'restore'; readonly pick: number; readonly newer: 'keep' | 'drop' }
  | { readonly verb: 'release' | 'append' | 'compact' | 'fork' | 'erase' };

const pick = fc.nat({ max: 9 });

export const verbs: fc.Arbitrary<Verb[]> = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        verb: fc.constant('enqueue' as const),
        kind: fc.constantFrom(...KINDS),
        onBusy: fc.constantFrom(...ON_BUSY_VALUES),
      }),
    },
    { weight: 2, arbitrary: fc.record({ verb: fc.constant('answer' as const), isApproved: fc.boolean() }) },
    { weight: 2, arbitrary: fc.record({ verb: fc.constantFrom('cancel' as const, 'rollBackTurn' as const), pick }) },
    {
      weight: 1,
      arbitrary: fc.record({
        verb: fc.constant('restore' as const),
        pick,
        newer: fc.constantFrom('keep' as const, 'drop' as const),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({ verb: fc.constantFrom('release', 'release', 'append', 'compact', 'fork', 'erase') }),
    },
  ),
  { minLength: 1, maxLength: 12 },
);

/** A sequence whose wait fails is shrunk, so the limit of a wait is short. */
const WAIT_MS = 15_000;
let conversations = 0;

/** Calls the client as the verbs say, and compares the conversation with the oracle after each of them. */
export class VerbRun {
  readonly #world: World;
  #conversation: string;
  #oracle = new Oracle();
  #count = 0;
  /** Settled turns that were compared once. */
  readonly #compared = new Set<Expected>();

  constructor(world: World) {
    this.#world = world;
    conversations += 1;
    this.#conversation = `v${conversations}`;
  }

  async play(sequence: readonly Verb[]): Promise<void> {
    for (const verb of sequence) {
      await this.#call(verb);
      await this.#compare();
    }
    await this.#finish();
  }

  /** Ends all turns, and checks that the conversation still answers. */
  async #finish(): Promise<void> {
    for (let [head] = this.#oracle.mailbox; head !== undefined; [head] = this.#oracle.mailbox) {
      await this.#call(head.state === 'waiting' ? { verb: 'answer', isApproved: true } : { verb: 'release' });
      await this.#compare();
    }
    await this.#call({ verb: 'enqueue', kind: 'say', onBusy: 'enqueue' });
    await this.#compare();
    expect(this.#world.faults).toEqual([]);
  }

  async #call(verb: Verb): Promise<void> {
    const oracle = this.#oracle;
    if (!oracle.exists && verb.verb !== 'enqueue' && verb.verb !== 'append') return;
    switch (verb.verb) {
      case 'enqueue':
        return await this.#enqueue(verb);
      case 'release': {
        const [head] = oracle.mailbox;
        if (head === undefined || !isHeld(head.kind) || head.state === 'waiting') return;
        this.#world.release(this.#conversation, head.id);
        return oracle.release();
      }
      case 'answer':
        return await this.#answer(verb.isApproved);
      case 'cancel': {
        const turn = oracle.turns[verb.pick % Math.max(oracle.turns.length, 1)];
        if (turn === undefined) return;
        expect(await this.#world.client.cancel(this.#conversation, turn.id)).toBe(oracle.cancel(turn));
        return this.#world.release(this.#conversation, turn.id);
      }
      case 'append':
        return await this.#append();
      case 'erase':
        await this.#world.client.erase(this.#conversation);
        for (const { id } of oracle.mailbox) this.#world.release(this.#conversation, id);
        this.#oracle = new Oracle();
        return;
      case 'compact':
        return await this.#compact();
      case 'fork':
        return await this.#fork();
      default:
        return await this.#change(verb);
    }
  }

  async #enqueue({ kind, onBusy }: Extract<Verb, { verb: 'enqueue' }>): Promise<void> {
    this.#count += 1;
    const turn = `${kind}-${this.#count}`;
    const [head] = this.#oracle.mailbox;
    const expected = this.#oracle.enqueue(turn, kind, onBusy);
    const input = { conversation: this.#conversation, agent: 'talker', turn, input: `${kind} ${turn}`, onBusy };
    const outcome = await codeOf(this.#world.client.enqueueTurn(input));
    expect(outcome).toBe(expected === 'busy' ? 'conversation_busy' : undefined);
    if (head?.state === 'canceled') this.#world.release(this.#conversation, head.id);
  }

  async #answer(isApproved: boolean): Promise<void> {
    const [head] = this.#oracle.mailbox;
    if (head?.waitsFor === undefined) return;
    const { waiting } = await this.#world.client.result(this.#conversation, head.id);
    const answer: CallAnswer = head.waitsFor === 'approval' ? { approved: isApproved } : { content: 'answered' };
    const answers = Object.fromEntries((waiting?.calls ?? []).map(({ id, hash }) => [id, { ...answer, hash }]));
    expect(await this.#world.client.answer(this.#conversation, head.id, answers)).toBe('answered');
    this.#oracle.answer(isApproved);
  }

  async #append(): Promise<void> {
    this.#count += 1;
    const thought = `thought ${this.#count} ${'and so on '.repeat(60)}`;
    const messages = [
      { role: 'user', content: `appended ${this.#count}` },
      { role: 'assistant', content: thought },
      { role: 'assistant', content: `${thought} once more` },
    ] as const;
    const append = this.#world.client.append({ conversation: this.#conversation, agent: 'talker', messages });
    const expected = this.#oracle.append(messages.map(labelOf));
    expect(await codeOf(append)).toBe(expected === 'busy' ? 'conversation_busy' : undefined);
  }

  async #change(verb: Extract<Verb, { verb: 'restore' | 'rollBackTurn' }>): Promise<void> {
    const { client } = this.#world;
    const { turns, versions } = this.#oracle;
    if (verb.verb === 'restore') {
      const version = verb.pick % versions.length;
      const expected = this.#oracle.restore(version, verb.newer);
      const restore = client.restore(this.#conversation, { version, newer: verb.newer });
      return expect(await codeOf(restore)).toBe(expected === 'busy' ? 'conversation_busy' : undefined);
    }
    const turn = turns[verb.pick % Math.max(turns.length, 1)];
    if (turn === undefined) return;
    const expected = this.#oracle.rollBackTurn(turn);
    const code = { rolled_back: undefined, busy: 'conversation_busy', turn_running: expected, conflict: expected };
    expect(await codeOf(client.rollBackTurn(this.#conversation, turn.id))).toBe(code[expected]);
  }

  /** The policy decides what a pass leaves, so the oracle takes its version over. */
  async #compact(): Promise<void> {
    const { client } = this.#world;
    const passId = await client.compact(this.#conversation);
    await expect.poll(async () => (await client.describe(this.#conversation)).passId).not.toBe(passId);
    const { version, items } = await client.context(this.#conversation);
    if (version < this.#oracle.versions.length) return;
    const { base = 0 } = (await client.versions(this.#conversation)).at(-1) ?? {};
    const shown = items.filter(({ to }) => to <= base).map(({ message }) => labelOf(message));
    this.#oracle.adopt({ base, items: shown });
  }

  /** Copies an idle conversation and goes on with the copy. */
  async #fork(): Promise<void> {
    if (this.#oracle.mailbox.length > 0) return;
    this.#count += 1;
    const copy = `${this.#conversation}.f${this.#count}`;
    await this.#world.client.fork(this.#conversation, copy);
    this.#conversation = copy;
    this.#oracle = this.#oracle.fork();
  }

  async #read({ id }: Expected) {
    const { state, waiting, failure, answer } = await this.#world.client.result(this.#conversation, id);
    const isHolding = state === 'running' && this.#world.isHolding(this.#conversation, id);
    return { turn: id, state, for: waiting?.for, isHolding, code: failure?.code, answer: answer?.content };
  }

  /** Waits until each turn has its expected state, then compares log and context. */
  async #compare(): Promise<void> {
    const { client } = this.#world;
    const oracle = this.#oracle;
    if (!oracle.exists) return expect(await codeOf(client.describe(this.#conversation))).toBe('not_found');
    for (const turn of oracle.turns) {
      if (this.#compared.has(turn)) continue;
      await expect
        .poll(() => this.#read(turn), { interval: 2, timeout: WAIT_MS })
        .toEqual({
          turn: turn.id,
          state: turn.state,
          for: turn.waitsFor,
          isHolding: isHeld(turn.kind) && turn.state === 'running' && turn.step === 1 && turn.steeredInto === undefined,
          code: turn.state === 'failed' ? 'model_failed' : undefined,
          answer: turn.state === 'completed' ? turn.answer : undefined,
        });
      if (isSettled(turn.state)) this.#compared.add(turn);
    }
    const log = await client.log(this.#conversation);
    expect(log.map(({ message }) => labelOf(message))).toEqual(oracle.log.map(({ label }) => label));
    // The version without refused messages follows the settlement of their turn.
    await expect
      .poll(
        async () => {
          const { items, version } = await client.context(this.#conversation);
          return { version, items: items.map(({ message }) => labelOf(message)) };
        },
        { interval: 2, timeout: WAIT_MS },
      )
      .toEqual({ version: oracle.versions.length - 1, items: oracle.items });
  }
}

/** Returns the code of the call's error, or undefined if the call succeeded. */
async function codeOf(call: Promise<unknown>): Promise<string | undefined> {
  try {
    await call;
    return undefined;
  } catch (error) {
    if (isTurnfoldError(error)) return error.code;
    throw error;
  }
}
