import type { ConversationState } from '../../src/domain/conversation.ts';
import type { ConversationRef } from '../../src/domain/ids.ts';
import type { LogEntry } from '../../src/domain/message.ts';
import { type StepRecord, TURN_STATES, type TurnFailure, type TurnState, type Waiting } from '../../src/domain/turn.ts';
import type { Summary, Version } from '../../src/domain/version.ts';
import { decodeConversation } from '../../src/store/conversation-record.ts';
import type { Database } from '../../src/store/embedded/database.ts';
import { type ConversationKey, Keyspace } from '../../src/store/keys.ts';
import { decodeLogEntry } from '../../src/store/log.ts';
import { RecordFields } from '../../src/store/records.ts';
import { decodeStep, decodeWaiting, readTurnFailure } from '../../src/store/turn-record.ts';
import type { KeptTexts } from '../../src/store/version-record.ts';

/** All conversations of a test are in one shard. */
export const KEYSPACE = new Keyspace(1);

export interface StoredTurn {
  readonly turn: string;
  readonly state: TurnState;
  readonly inputSeq?: number | undefined;
  readonly answerSeq?: number | undefined;
  /** How an incomplete answer ended. */
  readonly end?: string | undefined;
  readonly settledAt?: number | undefined;
  readonly steeredInto?: string | undefined;
  readonly failure?: TurnFailure | undefined;
  /** Input, output and cached tokens, and the price. */
  readonly usage: readonly (number | undefined)[];
  readonly requestTokens: readonly number[];
  readonly steps: ReadonlyMap<string, StepRecord>;
  readonly waiting?: Waiting | undefined;
}

export interface StoredPass {
  readonly passId: string;
  readonly reasons: readonly string[];
  readonly wake?: string | undefined;
  readonly owner?: string | undefined;
  readonly leaseUntil?: number | undefined;
  readonly attempts: number;
  /** Job that alone may claim the pass until `parkedUntil`. */
  readonly parked?: string | undefined;
  readonly parkedUntil?: number | undefined;
  readonly plan?: unknown;
  readonly isProposed: boolean;
}

export interface StoredFork {
  readonly isOpen: boolean;
  /** Version and last seq of the source. */
  readonly version: number;
  readonly head: number;
}

/** A claim, a record of a summary or a refusal, or the text of a part. */
export type StoredSummary = { readonly status: string; readonly owner?: string } | string;

/** The keys of a conversation, as far as tests read them. */
export interface StoredConversation {
  readonly ref: ConversationRef;
  readonly state: ConversationState;
  readonly epoch: number;
  /** Worker of the running turn. */
  readonly owner?: string | undefined;
  readonly leaseUntil?: number | undefined;
  readonly attempts: number;
  readonly wake?: string | undefined;
  readonly fork?: StoredFork | undefined;
  readonly mailbox: readonly string[];
  /** Oldest first. */
  readonly log: readonly LogEntry[];
  readonly versions: ReadonlyMap<number, Version>;
  readonly texts: KeptTexts;
  /** In the order in which the turns were accepted. */
  readonly turnRecords: ReadonlyMap<string, StoredTurn>;
  readonly pass?: StoredPass | undefined;
  readonly events: readonly StoredEvent[];
  readonly summaryRecords: ReadonlyMap<string, StoredSummary>;
  /** The answer to each decision on a proposal, by the id of its operation. */
  readonly decisions: ReadonlyMap<string, string>;
}

export interface StoredEvent {
  readonly type: string;
  readonly fields: Readonly<Record<string, string>>;
}

export function listConversations(db: Database): StoredConversation[] {
  return db.keys().flatMap((key) => {
    const [, tenant, id] = /^\{[^}]+\}:([^:]+):c:([^:]+)$/.exec(key) ?? [];
    return tenant === undefined || id === undefined ? [] : (readConversation(db, { tenant, id }) ?? []);
  });
}

/** Times at which the sweeper inspects turns, passes and idle conversations, by the member of `ready` or `idle`. */
export function readDueTimes(db: Database): ReadonlyMap<string, number> {
  const entries = [KEYSPACE.ready(0), KEYSPACE.idle(0)].flatMap((key) => db.get(key, 'zset')?.entries ?? []);
  return new Map(entries.map(({ member, score }) => [member, score]));
}

export function readConversation(db: Database, ref: ConversationRef): StoredConversation | undefined {
  const keyOf = (kind: ConversationKey): string => KEYSPACE.key(ref, kind);
  const record = readHash(db, keyOf('c'));
  if (record.isEmpty) return undefined;
  const state = decodeConversation(record);
  const texts = readHash(db, keyOf('txt'));
  const names = [...(db.get(keyOf('ix'), 'hash')?.keys() ?? [])];
  const keysOf = (prefix: string, keyNamed: (name: string) => string): NamedKey[] =>
    names
      .filter((name) => name.startsWith(prefix))
      .map((name) => name.slice(prefix.length))
      .map((name) => [name, keyNamed(name)]);
  // The index also names turns that have expired.
  const turns = keysOf('t:', (turn) => KEYSPACE.turn(ref, turn)).filter(([, key]) => db.get(key, 'hash') !== undefined);
  const summaries = keysOf('sum:', (hash) => KEYSPACE.summary(ref, hash));
  const decisions = keysOf('op:review:', (operation) => KEYSPACE.decision(ref, operation));
  return {
    ref,
    state,
    epoch: record.count('epoch') ?? 0,
    owner: record.text('owner'),
    leaseUntil: record.count('lease'),
    attempts: record.count('attempts') ?? 0,
    wake: record.text('wake'),
    fork: readFork(record),
    mailbox: (db.get(keyOf('mb'), 'list') ?? []).map(textOf),
    log: readLog(db, keyOf('log')),
    versions: new Map(
      readHash(db, keyOf('ver'))
        .withPrefix('')
        .map(([number, text]) => [Number(number), JSON.parse(text) as Version]),
    ),
    texts: {
      summaries: new Map(texts.withPrefix('k:').map(([key, text]) => [key, JSON.parse(text) as Summary])),
      byHash: new Map(texts.withPrefix('x:')),
    },
    turnRecords: new Map(turns.map(([turn, key]) => [turn, readTurn(turn, readHash(db, key), state.head)])),
    pass: readPass(readHash(db, keyOf('pass'))),
    events: readEvents(db, keyOf('ev')),
    summaryRecords: readTexts(db, summaries, readSummary),
    decisions: readTexts(db, decisions, withoutPayloadHash),
  };
}

type NamedKey = readonly [name: string, key: string];

/** Leaves out keys that have expired. */
function readTexts<Value>(
  db: Database,
  keys: readonly NamedKey[],
  read: (text: string) => Value,
): ReadonlyMap<string, Value> {
  return new Map(
    keys.flatMap(([name, key]) => {
      const text = db.get(key, 'string');
      return text === undefined ? [] : [[name, read(textOf(text))] as const];
    }),
  );
}

const IS_ASCII = /^[\0-\x7F]*$/;

/** Reads the bytes of a value as UTF-8. */
export function textOf(bytes: string): string {
  return IS_ASCII.test(bytes) ? bytes : Buffer.from(bytes, 'latin1').toString();
}

export function readHash(db: Database, key: string): RecordFields {
  const fields = [...(db.get(key, 'hash') ?? [])];
  return new RecordFields(key, new Map(fields.map(([field, value]) => [textOf(field), textOf(value)])));
}

function readLog(db: Database, key: string): LogEntry[] {
  return readHash(db, key)
    .withPrefix('')
    .map(([seq, text]) => decodeLogEntry(Number(seq), text, key))
    .toSorted((a, b) => a.seq - b.seq);
}

function readEvents(db: Database, key: string): StoredEvent[] {
  return (db.get(key, 'stream')?.between('-', '+') ?? []).map(({ fields: [, type = '', ...flat] }) => ({
    type,
    fields: Object.fromEntries(flat.flatMap((name, at) => (at % 2 === 0 ? [[name, textOf(flat[at + 1] ?? '')]] : []))),
  }));
}

const SPENT = ['inputTokens', 'outputTokens', 'cachedTokens', 'costMicros'];

function readTurn(turn: string, fields: RecordFields, head: number): StoredTurn {
  const [answerSeq, end] = fields.text('answerSeq')?.split(' ') ?? [];
  const steps = fields
    .withPrefix('s:')
    .map(([key, record]) => [key, decodeStep(fields, { key, record, head })] as const);
  return {
    turn,
    state: fields.oneOf('state', TURN_STATES),
    inputSeq: fields.count('inputSeq'),
    answerSeq: answerSeq === undefined ? undefined : Number(answerSeq),
    end,
    settledAt: fields.count('settledAt'),
    steeredInto: fields.text('steeredInto'),
    failure: fields.has('failure') ? readTurnFailure(fields) : undefined,
    usage: SPENT.map((name) => fields.count(name)),
    requestTokens: fields.counts('requestTokens'),
    steps: new Map(steps),
    waiting: decodeWaiting(fields),
  };
}

function readPass(fields: RecordFields): StoredPass | undefined {
  if (fields.isEmpty) return undefined;
  return {
    passId: fields.needText('passId'),
    reasons: (fields.text('reasons') ?? '').split(',').filter(Boolean),
    wake: fields.text('wake'),
    owner: fields.text('owner'),
    leaseUntil: fields.count('lease'),
    attempts: fields.count('attempts') ?? 0,
    plan: fields.has('plan') ? (JSON.parse(fields.needText('plan')) as unknown) : undefined,
    parked: fields.text('parked'),
    parkedUntil: fields.count('parkedUntil'),
    isProposed: fields.has('proposal'),
  };
}

function readFork(record: RecordFields): StoredFork | undefined {
  const isOpen = record.has('forking');
  const [, version, head] = record.text(isOpen ? 'forking' : 'forked')?.split(' ') ?? [];
  return version === undefined ? undefined : { isOpen, version: Number(version), head: Number(head) };
}

function readSummary(text: string): StoredSummary {
  return text.startsWith('{"status":') ? (JSON.parse(text) as StoredSummary) : text;
}

/** An answer stands behind the hash of its payload, which holds ids. */
function withoutPayloadHash(answer: string): string {
  return answer.slice(answer.indexOf(' ') + 1);
}
