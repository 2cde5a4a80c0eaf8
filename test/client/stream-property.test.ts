import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { PartAssembler } from '../../src/api/client/part-assembler.ts';
import { positionSchema } from '../../src/api/client/stream-position.ts';
import type { TurnLease } from '../../src/domain/lease.ts';
import { TURN_LIMITS } from '../../src/domain/turn.ts';
import type { StreamPiece } from '../../src/store/stream-entries.ts';
import { acceptAndClaim, callsStep, claimHead, newConversation, resultStep, textStep } from '../store/samples.ts';
import { TestDatabase } from '../store/test-database.ts';
import { messagesOf, ReadTurn } from './read-parts.ts';

const READERS = 3;

const operation = fc.oneof(
  fc.record({
    do: fc.constant('write' as const),
    text: fc.constantFrom('a', 'b', 'ab', 'ba', '😀'),
    calls: fc.boolean(),
  }),
  fc.record({ do: fc.constantFrom('lose' as const, 'repeat' as const) }),
  fc.record({ do: fc.constantFrom('next attempt' as const, 'next owner' as const, 'frozen owner' as const) }),
  fc.record({ do: fc.constant('record' as const), as: fc.constantFrom('written', 'other', 'calls') }),
  fc.record({ do: fc.constant('trim' as const), count: fc.integer({ min: 1, max: 9 }) }),
  fc.record({ do: fc.constantFrom('expire' as const) }),
  fc.record({
    do: fc.constantFrom('read' as const, 'resume' as const, 'start' as const),
    reader: fc.nat({ max: READERS - 1 }),
  }),
);
type Operation = typeof operation extends fc.Arbitrary<infer Value> ? Value : never;

/** A followed turn, its worker and its readers. */
class World {
  readonly db: TestDatabase;
  readonly store: TestDatabase['store'];
  readonly ref = newConversation();
  readonly readers = Array.from({ length: READERS }, () => ({ held: new ReadTurn(), assembler: new PartAssembler() }));
  #lease: TurnLease | undefined;
  #frozen: TurnLease | undefined;
  #head = 1;
  #step = 1;
  #attempt = 1;
  #written = '';
  #isLost = false;
  #isRepeated = false;

  constructor(db: TestDatabase) {
    this.db = db;
    this.store = db.store;
  }

  async open(): Promise<void> {
    this.#lease = (await acceptAndClaim(this.store, this.ref, 't1')).lease;
    await this.store.followTurn(this.ref, 't1');
  }

  async run(step: Operation): Promise<void> {
    switch (step.do) {
      case 'write':
        return await this.#write(step.text, step.calls);
      case 'lose':
        this.#isLost = true;
        return;
      case 'repeat':
        this.#isRepeated = true;
        return;
      case 'next attempt':
        this.#attempt += 1;
        this.#written = '';
        return;
      case 'next owner':
        return await this.#takeOver();
      case 'frozen owner':
        return await this.#writeFrozen();
      case 'record':
        return await this.#record(step.as);
      case 'trim':
        return this.#trim(step.count);
      case 'expire':
        this.db.run('DEL', this.#stream);
        return;
      case 'read':
        return await this.read(step.reader);
      case 'resume':
        return this.#resume(step.reader);
      case 'start':
        this.readers[step.reader] = { held: new ReadTurn(), assembler: new PartAssembler() };
    }
  }

  async read(index: number): Promise<void> {
    const reader = this.readers[index];
    const page = await this.store.readStream({
      conversation: this.ref,
      turn: 't1',
      ...(reader?.assembler.place ?? { after: '0-0', afterSeq: 0 }),
    });
    for (const part of page === undefined ? [] : (reader?.assembler.read(page).parts ?? [])) reader?.held.add(part);
  }

  async settle(isCanceled: boolean): Promise<void> {
    if (isCanceled) await this.store.cancel(this.ref, 't1', 'wake');
    else {
      await this.#record('other');
      await this.store.settle(this.#owner, { state: 'completed', answerSeq: this.#head }, 'wake');
    }
    for (const [index, { assembler, held }] of this.readers.entries()) {
      await this.read(index);
      for (const part of assembler.end()) held.add(part);
    }
  }

  async readExpected(): Promise<object[]> {
    return messagesOf((await this.db.find(this.ref))?.log ?? [], 't1');
  }

  get #stream(): string {
    return this.db.keyspace.stream(this.ref, 't1');
  }

  get #owner(): TurnLease {
    if (this.#lease === undefined) throw new Error('open was not called');
    return this.#lease;
  }

  async #write(text: string, hasCall: boolean): Promise<void> {
    const pieces: StreamPiece[] = [{ kind: 'text', at: this.#written.length, text }];
    if (hasCall)
      pieces.push({ kind: 'call', call: 0, name: 'read' }, { kind: 'arguments', call: 0, at: 0, text: '{"l' });
    this.#written += text;
    if (!this.#isLost) await this.#append(this.#owner, pieces);
    if (this.#isRepeated) await this.#append(this.#owner, pieces);
    this.#isLost = false;
    this.#isRepeated = false;
  }

  async #append(lease: TurnLease, pieces: readonly StreamPiece[]): Promise<void> {
    const { epoch } = lease;
    const call = { seq: this.#head + 1, step: this.#step, epoch, attempt: this.#attempt };
    await this.store.appendPieces(lease, { ...call, pieces });
  }

  /** Drops the oldest entries of the stream. */
  #trim(count: number): void {
    const length = Number(this.db.run('XLEN', this.#stream));
    this.db.run('XTRIM', this.#stream, 'MAXLEN', Math.max(0, length - count));
  }

  async #takeOver(): Promise<void> {
    this.db.advance(TURN_LIMITS.leaseMs + 1);
    this.#frozen = this.#owner;
    this.#lease = (await claimHead(this.store, this.ref)).lease;
    this.#attempt = 1;
    this.#written = '';
  }

  async #writeFrozen(): Promise<void> {
    if (this.#frozen === undefined) return;
    const batch = { seq: this.#head + 1, step: this.#step, epoch: this.#frozen.epoch, attempt: 1 };
    const pieces = [{ kind: 'text', at: 0, text: 'frozen' }] as const;
    const { status } = await this.store.appendPieces(this.#frozen, { ...batch, pieces });
    if (status !== 'fenced') throw new Error(`a frozen owner got the reply ${status}`);
  }

  async #record(as: string): Promise<void> {
    const key = `model-${this.#step}`;
    const head = this.#head;
    if (as === 'calls') {
      await this.store.recordStep(this.#owner, callsStep(key, head, 2));
      for (const call of [0, 1]) {
        await this.store.recordStep(this.#owner, resultStep(`tool-${head}-${call}`, `c${head + 1}_${call}`));
      }
      this.#head += 3;
    } else {
      const content = as === 'other' || this.#written === '' ? 'another text' : `${this.#written} and more`;
      await this.store.recordStep(this.#owner, textStep(key, head, content));
      this.#head += 1;
    }
    this.#step += 1;
    this.#attempt += 1;
    this.#written = '';
  }

  /** Continues a reader from the id of its last part, as another process would. */
  #resume(index: number): void {
    const held = this.readers[index]?.held ?? new ReadTurn();
    const position = held.after === undefined ? undefined : positionSchema.parse(held.after);
    this.readers[index] = { held, assembler: new PartAssembler(position) };
  }
}

test('readers of a turn end with the messages of the log, for any order of pieces, losses, trims, restarts and resumptions', async () => {
  const db = await TestDatabase.open();
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { maxLength: 60 }), fc.boolean(), async (operations, isCanceled) => {
      const world = new World(db);
      await world.open();
      for (const step of operations) await world.run(step);
      await world.settle(isCanceled);
      const expected = await world.readExpected();
      for (const { held } of world.readers) expect(held.messages).toEqual(expected);
    }),
    { numRuns: 1_000 },
  );
});
