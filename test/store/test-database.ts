import type { Clock } from '../../src/domain/clock.ts';
import type { ConversationState } from '../../src/domain/conversation.ts';
import type { ConversationRef } from '../../src/domain/ids.ts';
import type { LogEntry } from '../../src/domain/message.ts';
import type { Version } from '../../src/domain/version.ts';
import { Keyspace } from '../../src/store/keys.ts';
import { type EmbeddedStore, openEmbeddedStore } from '../../src/store/open-embedded-store.ts';
import type { KeptTexts } from '../../src/store/version-record.ts';

type Fields = Readonly<Record<string, string>>;

/** Commands that read a whole value, by its type. */
const READS = {
  string: ['GET'],
  hash: ['HGETALL'],
  list: ['LRANGE', 0, -1],
  set: ['SMEMBERS'],
  zset: ['ZRANGE', 0, -1, 'WITHSCORES'],
  stream: ['XRANGE', '-', '+'],
} as const;

/** The compaction pass of a conversation. */
export interface StoredPass {
  readonly passId: string;
  readonly reasons: readonly string[];
  readonly wake?: string | undefined;
  readonly owner?: string | undefined;
  readonly leaseUntil?: number | undefined;
  readonly attempts: number;
  readonly parked?: { readonly job: string; readonly untilMs: number };
  readonly plan?: unknown;
}

/** Records of a conversation, as tests read them. */
export interface StoredConversation extends ConversationState {
  readonly log: readonly LogEntry[];
  readonly versions: ReadonlyMap<number, Version>;
  readonly texts: KeptTexts;
  /** Worker of the running turn. */
  readonly owner?: string | undefined;
  readonly attempts: number;
  readonly wake?: string | undefined;
  readonly pass?: StoredPass;
  readonly mailbox: readonly string[];
  /** Hashes of the sequences that have a claim, a part or a summary. */
  readonly summaries: readonly string[];
}

/** A store in this process, whose clock a test controls. */
export class TestDatabase {
  readonly keyspace = new Keyspace(1);
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
  hash(key: string): Fields {
    return Object.fromEntries(pairs(this.run('HGETALL', key)));
  }

  /** Entries that the sweeper inspects, with the times at which it does. */
  get ready(): ReadonlyMap<string, number> {
    const found = [this.keyspace.ready(0), this.keyspace.idle(0)].flatMap((key) =>
      pairs(this.run('ZRANGE', key, 0, -1, 'WITHSCORES')),
    );
    return new Map(found.map(([member, at]) => [member, Number(at)]));
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

  async find(ref: ConversationRef): Promise<StoredConversation | undefined> {
    const state = await this.store.readConversation(ref);
    if (state === undefined) return undefined;
    const { owner, attempts = '0', wake } = this.hash(this.keyspace.key(ref, 'c'));
    const pass = this.hash(this.keyspace.key(ref, 'pass'));
    const prefix = this.keyspace.summary(ref, '');
    return {
      ...state,
      log: await this.store.readLog(ref, state.head === 0 ? [] : [{ from: 1, to: state.head }]),
      versions: new Map((await this.store.listVersions(ref)).map((version) => [version.number, version])),
      texts: await this.store.readTexts(ref, '0'),
      owner,
      attempts: Number(attempts),
      wake,
      ...('passId' in pass && { pass: readPass(pass) }),
      mailbox: texts(this.run('LRANGE', this.keyspace.key(ref, 'mb'), 0, -1)),
      summaries: this.redis.database
        .keys()
        .flatMap((key) => (key.startsWith(prefix) ? [key.slice(prefix.length)] : [])),
    };
  }
}

function readPass({ passId = '', reasons = '', attempts = '0', ...pass }: Fields): StoredPass {
  const { wake, owner, lease, parked, parkedUntil, plan } = pass;
  return {
    passId,
    reasons: reasons.split(',').filter(Boolean),
    wake,
    owner,
    leaseUntil: lease === undefined ? undefined : Number(lease),
    attempts: Number(attempts),
    ...(parked !== undefined && { parked: { job: parked, untilMs: Number(parkedUntil) } }),
    ...(plan !== undefined && { plan: JSON.parse(plan) as unknown }),
  };
}

/** Names and values in turn, as pairs. */
function pairs(reply: unknown): [string, string][] {
  const flat = texts(reply);
  return flat.flatMap((name, at): [string, string][] => (at % 2 === 0 ? [[name, flat[at + 1] ?? '']] : []));
}

function texts(reply: unknown): string[] {
  return (reply as readonly string[]).map((bytes) => Buffer.from(bytes, 'latin1').toString());
}
