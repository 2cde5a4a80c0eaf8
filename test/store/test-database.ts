import type { Clock } from '../../src/domain/clock.ts';
import type { ConversationState } from '../../src/domain/conversation.ts';
import type { ConversationRef } from '../../src/domain/ids.ts';
import { type EmbeddedStore, openEmbeddedStore } from '../../src/store/open-embedded-store.ts';
import { KEYSPACE, readConversation, readDueTimes, readHash, type StoredConversation } from './stored-conversation.ts';

/** Commands that read a whole value, by its type. */
const READS = {
  string: ['GET'],
  hash: ['HGETALL'],
  list: ['LRANGE', 0, -1],
  set: ['SMEMBERS'],
  zset: ['ZRANGE', 0, -1, 'WITHSCORES'],
  stream: ['XRANGE', '-', '+'],
} as const;

/** A store in this process, whose clock a test controls. */
export class TestDatabase {
  readonly keyspace = KEYSPACE;
  readonly store: EmbeddedStore['store'];
  readonly redis: EmbeddedStore['redis'];
  #aheadMs = 0;

  private constructor({ store, redis }: EmbeddedStore, clock: Clock) {
    this.store = store;
    this.redis = redis;
    redis.database.clock = () => clock.now() + this.#aheadMs;
  }

  static async open(clock: Clock = { now: Date.now }): Promise<TestDatabase> {
    const db = new TestDatabase(await openEmbeddedStore(), clock);
    // Later calls are answered without I/O, once the connection is open.
    await db.store.readCalibrations();
    return db;
  }

  now(): number {
    return this.redis.database.now();
  }

  /** Moves the clock of the store ahead of the clock of its workers. */
  advance(ms: number): void {
    this.#aheadMs += ms;
  }

  /** Runs a command that no operation of the store runs. */
  run(command: string, ...args: readonly (string | number)[]): unknown {
    return this.redis.run(
      command,
      args.map((arg) => Buffer.from(String(arg)).toString('latin1')),
    );
  }

  /** Reads a hash. Empty if there is none. */
  hash(key: string): Readonly<Record<string, string>> {
    return Object.fromEntries(readHash(this.redis.database, key).withPrefix(''));
  }

  /** Entries that the sweeper inspects, with the times at which it does. */
  get ready(): ReadonlyMap<string, number> {
    return readDueTimes(this.redis.database);
  }

  /** All keys with their values. */
  dump(): ReadonlyMap<string, unknown> {
    return new Map(
      this.redis.database.keys().map((key) => {
        const [command, ...args] = READS[this.redis.database.typeOf(key) ?? 'string'];
        return [key, this.run(command, key, ...args)];
      }),
    );
  }

  async find(ref: ConversationRef): Promise<(StoredConversation & ConversationState) | undefined> {
    const found = readConversation(this.redis.database, ref);
    return found && { ...found.state, ...found };
  }
}
