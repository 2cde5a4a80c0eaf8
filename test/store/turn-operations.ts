import * as fc from 'fast-check';
import type { ConversationRef } from '../../src/domain/ids.ts';
import type { TurnLease } from '../../src/domain/lease.ts';
import { ON_BUSY_VALUES, type WaitKind } from '../../src/domain/turn.ts';
import type { OpenTurn } from '../../src/store/open-turns.ts';
import type { StoredAnswer } from '../../src/store/turn-answers.ts';
import type { ClaimResult } from '../../src/store/turn-claims.ts';
import type { StepOutcome, StepResult } from '../../src/store/turn-steps.ts';
import { replacementOver } from './contract/version-replacement.ts';
import { checkInvariants, checkSame, type Observation } from './observation.ts';
import { endOf } from './pass-samples.ts';
import { bring, callsStep, resultStep, textStep, toWaitFor, turnFor } from './samples.ts';
import type { StoreHarness } from './store-harness.ts';

const WORKERS = ['A', 'B'] as const;
type Worker = (typeof WORKERS)[number];
const FAR = 86_400_000;

/** The last lease of a worker, which may be lost by now, and its last view of the conversation. */
interface Memory {
  lease?: TurnLease;
  head: number;
  openCalls: readonly string[];
}

/** A store and two workers on one conversation. */
export class Side {
  readonly harness: StoreHarness;
  readonly conversation: ConversationRef;
  readonly workers: Record<Worker, Memory> = { A: { head: 0, openCalls: [] }, B: { head: 0, openCalls: [] } };
  /** Counts deliveries and wakes. It is equal for both stores. */
  count = 0;
  last: Observation | undefined;
  /** The first turn of the mailbox when an operation starts. A repeated operation uses the same turn. */
  head = 'turn.0';
  /** Last pass that was requested. */
  passId = 'none';

  constructor(harness: StoreHarness, conversation: ConversationRef) {
    this.harness = harness;
    this.conversation = conversation;
  }

  learn(worker: Worker, reply: ClaimResult | StepResult): void {
    const memory = this.workers[worker];
    if (reply.status === 'claimed') memory.lease = reply.turn.lease;
    if (reply.status === 'recorded' || reply.status === 'known') memory.head = reply.conversation.head;
    if (reply.status !== 'claimed') return;
    const { head, openCalls } = reply.turn.conversation;
    memory.head = head;
    memory.openCalls = openCalls.map(({ id }) => id).toSorted();
  }

  /** Updates the worker's list of unanswered tool calls after a step, because the reply to a step does not contain them. */
  learnCalls(worker: Worker, { opens, closes }: StepOutcome): void {
    const memory = this.workers[worker];
    const open = new Set([...memory.openCalls, ...opens.map(({ id }) => id)]).difference(new Set(closes));
    memory.openCalls = [...open].toSorted();
  }
}

/** An operation with a name for the report. If `isSentTwice`, it is repeated, as a client does whose reply was lost. */
class Operation implements fc.AsyncCommand<Side, Side> {
  readonly name: string;
  readonly isSentTwice: boolean;
  readonly perform: (side: Side, count: number) => Promise<unknown>;
  /** Worker whose lease the operation needs. */
  readonly by: Worker | undefined;

  constructor(name: string, isSentTwice: boolean, perform: Operation['perform'], by?: Worker) {
    this.name = name;
    this.isSentTwice = isSentTwice;
    this.perform = perform;
    this.by = by;
  }

  check({ workers }: Side): boolean {
    return this.by === undefined || workers[this.by].lease !== undefined;
  }

  async run(memory: Side, redis: Side): Promise<void> {
    const [expected, actual] = await Promise.all([this.#runOn(memory), this.#runOn(redis)]);
    checkSame(actual.reply, expected.reply, 'Redis answers as the fake');
    checkSame(actual.seen.shape, expected.seen.shape, 'Redis holds what the fake holds');
  }

  async #runOn(side: Side): Promise<{ reply: unknown; seen: Observation }> {
    side.count += 1;
    side.head = side.last?.shape.mailbox[0] ?? side.head;
    const reply = normalize(await this.perform(side, side.count));
    const seen = await side.harness.observe(side.conversation);
    checkInvariants(seen, side.last);
    side.last = seen;
    if (this.isSentTwice) {
      const again = normalize(await this.perform(side, side.count));
      checkSame(again, asKnown(reply), 'I5: sent again, the same answer');
      const { shape } = await side.harness.observe(side.conversation);
      checkSame(shape, seen.shape, 'I5: and no change');
    }
    return { reply, seen };
  }

  toString(): string {
    return this.isSentTwice ? `${this.name} twice` : this.name;
  }
}

/** Removes times, epochs and incarnations, which differ between the stores. */
function normalize(reply: unknown): unknown {
  const text = JSON.stringify(reply ?? null, (name, value: unknown) => {
    if ((typeof value === 'number' && value > 1e12) || name === 'incarnation') return '<time>';
    return value instanceof Map ? (Object.fromEntries(value) as unknown) : value;
  });
  return JSON.parse(text) as unknown;
}

/** Returns the reply that a repeated call must get: done becomes known. Replies with only a status stay the same. */
function asKnown(reply: unknown): unknown {
  const hasMore = (field: string): boolean => typeof reply === 'object' && reply !== null && field in reply;
  const isKnown = ['accepted', 'recorded', 'settled'].includes((reply as { status: string } | null)?.status ?? '');
  const isFirst = hasMore('needsWake') || hasMore('conversation') || hasMore('hasNext');
  return isKnown && isFirst ? { ...(reply as object), status: 'known' } : reply;
}

const HEAD = 'head';
const turnId = fc.integer({ min: 0, max: 6 }).map((index) => `turn.${index}`);
const mostlyHead = fc.oneof({ weight: 3, arbitrary: fc.constant(HEAD) }, turnId);
const worker = fc.constantFrom(...WORKERS);
const step = fc.integer({ min: 0, max: 5 }).map((index) => `step:${index}`);
const twice = fc.boolean();
const seldom = fc.constantFrom(false, false, false, false, true);

function turnOf({ head }: Side, given: string): string {
  return given === HEAD ? head : given;
}

const accept = fc
  .record({
    turn: turnId,
    isScheduled: seldom,
    hasOther: seldom,
    own: fc.option(fc.constantFrom('{"instructions":"Be brief."}', '{"tools":[]}'), { nil: undefined }),
    redriveOf: fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: turnId }),
    max: fc.constantFrom(2, 100),
    onBusy: fc.constantFrom(...ON_BUSY_VALUES),
    busyTurn: fc.option(turnId, { nil: undefined }),
    twice,
  })
  .map(
    (given) =>
      new Operation(
        `accept ${given.turn}${given.isScheduled ? ' later' : ` ${given.onBusy} of ${given.busyTurn}`} max ${given.max}`,
        given.twice,
        ({ harness, conversation }, count) =>
          harness.store.accept(
            turnFor(conversation, given.turn, {
              wake: `wake-${count}`,
              payloadHash: given.hasOther ? 'other' : 'hash',
              maxQueuedTurns: given.max,
              own: given.own,
              ...(given.redriveOf !== undefined && { redriveOf: given.redriveOf }),
              ...(given.isScheduled ? { delayMs: FAR } : { onBusy: given.onBusy, busyTurn: given.busyTurn }),
            }),
          ),
      ),
  );

function claimBy(by: Worker, isSentTwice: boolean, dies: boolean): Operation {
  return new Operation(`${by} claims${dies ? ' and dies' : ''}`, isSentTwice, async (side, count) => {
    const { harness, conversation } = side;
    const reply = await harness.store.claim(conversation, `${by}-${count}`, `wake-${count}`);
    side.learn(by, reply);
    if (dies) await harness.lapseLease('turn', conversation);
    return reply;
  });
}
const claim = fc.tuple(worker, twice).map(([by, isSentTwice]) => claimBy(by, isSentTwice, false));
const claimAndDie = worker.map((by) => claimBy(by, false, true));

/** An operation of a worker under its last lease, which another worker may have taken over. */
function leased(
  name: string,
  by: Worker,
  isSentTwice: boolean,
  perform: (side: Side, lease: TurnLease, count: number) => Promise<unknown>,
): Operation {
  const performAs: Operation['perform'] = async (side, count) => {
    const { lease } = side.workers[by];
    return lease === undefined ? undefined : perform(side, lease, count);
  };
  return new Operation(`${by} ${name}`, isSentTwice, performAs, by);
}

const start = fc
  .record({ by: worker, keys: fc.uniqueArray(step, { maxLength: 3 }), twice })
  .map(({ by, keys, twice: again }) =>
    leased(`starts ${keys.join()}`, by, again, (side, lease) => side.harness.store.startSteps(lease, keys)),
  );

const COUNTED = {
  usage: { inputTokens: 5, outputTokens: 0 },
  answeredVersion: 0,
  requestTokens: 6,
  anchor: { tokens: 9, version: 0, fingerprint: 'a1b2' },
  end: 'cut_off',
} as const;

const record = fc
  .record({ by: worker, key: step, kind: fc.constantFrom('text', 'calls', 'result', 'nothing'), twice })
  .map(({ by, key, kind, twice: again }) => {
    // The first call fixes the arguments, so that a repeated call sends the same step even if the worker has learned more
    // since.
    let sent = { count: 0, head: 0, call: '' };
    return leased(`records ${key} (${kind})`, by, again, async (side, lease, count) => {
      const { head, openCalls } = side.workers[by];
      if (sent.count !== count) sent = { count, head, call: openCalls[0] ?? '' };
      const outcome =
        kind === 'calls'
          ? callsStep(key, sent.head)
          : kind === 'result' && sent.call !== ''
            ? { ...resultStep(key, sent.call), expectedHead: sent.head, texts: new Map([['hash', 'whole']]) }
            : kind === 'text'
              ? { ...textStep(key, sent.head), ...COUNTED }
              : { key, messages: [], opens: [], closes: [] };
      const reply = await side.harness.store.recordStep(lease, outcome);
      side.learn(by, reply);
      if (reply.status === 'recorded') side.learnCalls(by, outcome);
      return reply;
    });
  });

const suspend = fc
  .record({ by: worker, key: step, kind: fc.constantFrom<WaitKind>('tools', 'approval', 'compaction', 'retry'), twice })
  .map(({ by, key, kind, twice: again }) =>
    leased(`suspends for ${kind}`, by, again, (side, lease) => {
      const calls = kind === 'tools' || kind === 'approval' ? ['c1_0', ...side.workers[by].openCalls.slice(0, 1)] : [];
      return side.harness.store.suspend(lease, {
        for: kind,
        step: key,
        waitMs: FAR,
        calls: toWaitFor(calls),
        passId: side.passId,
      });
    }),
  );

const heartbeat = fc
  .record({ by: worker, twice })
  .map(({ by, twice: again }) => leased('heartbeats', by, again, (side, lease) => side.harness.store.heartbeat(lease)));

const release = fc
  .record({ by: worker, twice, delayMs: fc.constantFrom(0, 5_000) })
  .map(({ by, twice: again, delayMs }) =>
    leased('hands back', by, again, (side, lease, count) =>
      side.harness.store.release(lease, `wake-${count}`, delayMs),
    ),
  );

const startAlone = fc
  .record({ by: worker, twice, isWatched: fc.boolean() })
  .map(({ by, twice: again, isWatched }) =>
    leased('runs alone', by, again, (side, lease) => side.harness.store.startAlone(lease, isWatched)),
  );

const reportDeath = fc
  .record({ by: worker, twice })
  .map(({ by, twice: again }) =>
    leased('reports the death of a process', by, again, (side, lease) => side.harness.store.reportDeath(lease)),
  );

const takeSteering = fc.record({ by: worker, twice }).map(({ by, twice: again }) =>
  leased('takes steering', by, again, async (side, lease) => {
    const reply = await side.harness.store.takeSteering(lease);
    if (reply.status === 'taken') side.workers[by].head = reply.conversation.head;
    return reply;
  }),
);

const undoTurns = fc.record({ by: worker, twice }).map(({ by, twice: again }) => {
  let sent = { count: 0, version: 0, head: 0 };
  return leased('undoes turns', by, again, async (side, lease, count) => {
    const { store } = side.harness;
    if (sent.count !== count) {
      const state = await store.readConversation(side.conversation);
      sent = { count, version: state?.size.version ?? 0, head: state?.undo?.at(-1)?.to ?? 0 };
    }
    const { version, backoff, keepVersions } = replacementOver(side.conversation, sent.version, sent.head);
    const reply = await store.undoTurns(lease, { expectedVersion: sent.version, version, backoff, keepVersions });
    return { ...reply, status: reply.status === 'known' ? 'undone' : reply.status };
  });
});

const settle = fc
  .record({ by: worker, isCompleted: fc.boolean(), hasWake: fc.boolean(), key: fc.option(step), twice })
  .map(({ by, isCompleted, hasWake, key, twice: again }) => {
    let sent = { count: 0, head: 0 };
    const name = `settles as ${isCompleted ? 'completed' : 'failed'}${key === null ? '' : ` with ${key}`}`;
    return leased(name, by, again, (side, lease, count) => {
      if (sent.count !== count) sent = { count, head: side.workers[by].head };
      return side.harness.store.settle(
        lease,
        {
          ...(isCompleted
            ? { state: 'completed', answerSeq: 1 }
            : { state: 'failed', failure: { code: 'model_failed', message: 'x' } }),
          ...(key !== null && { step: { ...textStep(key, sent.head), ...COUNTED } }),
        },
        hasWake ? `wake-${count}` : undefined,
      );
    });
  });

const CALLS = ['c1_0', 'c2_0', 'c3_0', 'c4_0'];
const resume = fc
  .record({
    turn: mostlyHead,
    calls: fc.oneof(fc.constant(undefined), fc.subarray([...CALLS, 'c9_9'], { minLength: 1 })),
    kind: fc.constantFrom<StoredAnswer['for']>('tools', 'approval'),
    twice,
  })
  .map(
    ({ turn, calls, kind, twice: again }) =>
      new Operation(`resume ${turn} ${kind} ${calls?.join() ?? 'all'}`, again, (side, count) => {
        const meant = turnOf(side, turn);
        const awaited = side.last?.shape.turns[meant]?.waiting?.calls ?? [];
        return side.harness.store.answerTurn({
          conversation: side.conversation,
          turn: meant,
          answers: bring(calls ?? (awaited.length > 0 ? awaited : CALLS), kind, () => `{"at":${count},"list":[]}`),
          wake: `wake-${count}`,
          request: count % 2 === 0 ? undefined : `request-${count}`,
        });
      }),
  );

const cancel = fc
  .record({ turn: mostlyHead, twice })
  .map(
    ({ turn, twice: again }) =>
      new Operation(`cancel ${turn}`, again, (side, count) =>
        side.harness.store.cancel(side.conversation, turnOf(side, turn), `wake-${count}`),
      ),
  );

const lapse = fc.constant(
  new Operation('lease lapses', false, ({ harness, conversation }) => harness.lapseLease('turn', conversation)),
);
const deadline = fc.constant(
  new Operation('deadline passes', false, (side) => side.harness.passDeadline(side.conversation, side.head)),
);
const beginPass = fc.constant(
  new Operation('pass begins', false, async (side, count) => {
    const { harness, conversation } = side;
    const [passId, wake] = [`pass-${count}`, `pass-wake-${count}`];
    const reply = await harness.store.requestPass({ conversation, passId, reasons: ['manual'], wake });
    if ('passId' in reply) side.passId = reply.passId;
    return reply;
  }),
);
const endPass = fc.constant(
  new Operation('pass ends', false, async ({ harness, conversation }, count) => {
    const reply = await harness.store.claimPass(conversation, `pass-owner-${count}`, 'job', 'w');
    if (reply.status !== 'claimed') return reply;
    return await harness.store.endPass(reply.pass.lease, endOf({ wakeTurn: `wake-${count}` }));
  }),
);

const packLog = fc.constant(
  new Operation('log is packed', false, async ({ harness, conversation }) => {
    await harness.rest(conversation);
    return (await harness.store.packLog(conversation)).entries;
  }),
);

/**
 * Sorts scheduled turns by name. Two turns that one store accepts in the same millisecond may have different due times in
 * the other.
 */
const nameOfScheduled = ({ turn, state }: OpenTurn): string => (state === 'scheduled' ? turn : '');
const listOpen = fc.constant(
  new Operation('list open turns', false, async ({ harness, conversation }) => {
    const open = await harness.store.listOpen(conversation, 100);
    const turns = open?.turns.toSorted((a, b) => nameOfScheduled(a).localeCompare(nameOfScheduled(b)));
    return open && { ...open, turns };
  }),
);

/** Claims and steps are more frequent than operations that end a turn, so that sequences make progress. */
export const operations = fc.commands(
  [
    [
      accept,
      start,
      suspend,
      resume,
      heartbeat,
      release,
      startAlone,
      reportDeath,
      takeSteering,
      undoTurns,
      settle,
      cancel,
      lapse,
      deadline,
      beginPass,
      endPass,
      listOpen,
      packLog,
    ],
    [accept, claim, claim, claim, claimAndDie, claimAndDie, claimAndDie, record, record, record],
  ].flat(),
  { maxCommands: 60, size: 'max' },
);
