import type { Redis } from 'ioredis';
import { readJsonAnswer } from '../domain/final-answer.ts';
import type { ConversationRef } from '../domain/ids.ts';
import { metadataSchema, type StepRecord, TURN_STATES, type TurnView, viewWait } from '../domain/turn.ts';
import { joinUsage, NO_USAGE } from '../domain/usage.ts';
import { type FailedQuery, listFailed } from './failed-turns.ts';
import type { Keyspace } from './keys.ts';
import { bindReadEntry } from './log-pages.ts';
import { bindListOpen } from './open-turns.ts';
import { callStore, RecordFields } from './records.ts';
import { scriptBinder } from './script.ts';
import { answerTurnScript } from './turn-answers.ts';
import { rollBackVersionScript, takeSteeringScript, undoTurnsScript } from './turn-changes.ts';
import { claimTurnScript, heartbeatTurnScript, reportDeathScript, startAloneScript } from './turn-claims.ts';
import { releaseTurnScript, settleTurnScript, suspendTurnScript } from './turn-ends.ts';
import { acceptTurnScript, cancelTurnScript, readInputs } from './turn-intake.ts';
import {
  decodeStep,
  decodeWaiting,
  readEnd,
  readRedrive,
  readTurnFailure,
  STRUCTURED,
  WAIT_FIELDS,
} from './turn-record.ts';
import { keepSystemScript, readBriefing, recordStepScript, startStepsScript } from './turn-steps.ts';

/** Turns, for workers. Every write checks the lease (I4) and has no effect when repeated (I5). */
export function openTurnStore(redis: Redis, keyspace: Keyspace) {
  const bind = scriptBinder(redis, keyspace);
  return {
    claim: bind(claimTurnScript),
    startSteps: bind(startStepsScript),
    readBriefing: (conversation: ConversationRef, turn: string) => readBriefing(redis, keyspace, conversation, turn),
    keepSystem: bind(keepSystemScript),
    recordStep: bind(recordStepScript),
    suspend: bind(suspendTurnScript),
    heartbeat: bind(heartbeatTurnScript),
    release: bind(releaseTurnScript),
    startAlone: bind(startAloneScript),
    reportDeath: bind(reportDeathScript),
    rollBackVersion: bind(rollBackVersionScript),
    takeSteering: bind(takeSteeringScript),
    undoTurns: bind(undoTurnsScript),
    settle: bind(settleTurnScript),
  };
}

export type TurnStore = ReturnType<typeof openTurnStore>;

export function openTurnIntake(redis: Redis, keyspace: Keyspace) {
  const bind = scriptBinder(redis, keyspace);
  return {
    accept: bind(acceptTurnScript),
    answerTurn: bind(answerTurnScript),
    cancel: bind(cancelTurnScript),
    readTurn: bindReadTurn(redis, keyspace),
    readSteps: (conversation: ConversationRef, turn: string) => readSteps(redis, keyspace, conversation, turn),
    listFailed: (query: FailedQuery) => listFailed(redis, keyspace, query),
    listOpen: bindListOpen(redis, keyspace),
    readInputs: (conversation: ConversationRef, turns: readonly string[]) =>
      readInputs(redis, keyspace.key(conversation, 'txt'), turns),
  };
}

export type TurnIntake = ReturnType<typeof openTurnIntake>;

function bindReadTurn(
  redis: Redis,
  keyspace: Keyspace,
): (conversation: ConversationRef, turn: string) => Promise<TurnView | undefined> {
  const readEntry = bindReadEntry(redis, keyspace);
  return async (conversation, turn) => {
    const key = keyspace.turn(conversation, turn);
    const fields = await RecordFields.pick(redis, key, VIEW_FIELDS);
    if (fields.isEmpty) return undefined;
    const seq = readTextSeq(fields);
    const entry = seq === undefined ? undefined : await readEntry(conversation, seq);
    if (seq !== undefined && entry === undefined) return undefined;
    return decodeTurnView(turn, fields, entry?.message.content);
  };
}

const VIEW_FIELDS = [
  ...'state agent acceptedAt settledAt inputSeq answerSeq stoppedSeq failure metadata redriveOf redrivenAs'.split(' '),
  ...'steeredInto requests inputTokens outputTokens cachedTokens costMicros requestTokens'.split(' '),
  ...WAIT_FIELDS,
];

/** @param text content of the log entry at `readTextSeq`, if the turn has such an entry */
function decodeTurnView(turn: string, fields: RecordFields, text = ''): TurnView {
  const { state, waiting } = viewWait(fields.oneOf('state', TURN_STATES), decodeWaiting(fields));
  const settledAt = fields.count('settledAt');
  const inputSeq = fields.count('inputSeq');
  const steeredInto = fields.text('steeredInto');
  const requests = fields.text('requests')?.split(' ');
  const usage = joinUsage(
    { inputTokens: fields.count('inputTokens') ?? 0, outputTokens: fields.count('outputTokens') ?? 0 },
    { ...NO_USAGE, cachedTokens: fields.count('cachedTokens') ?? 0, costMicros: fields.count('costMicros') ?? 0 },
  );
  const view = {
    turn,
    state,
    agent: fields.id('agent') ?? '',
    acceptedAt: fields.needCount('acceptedAt'),
    ...(settledAt !== undefined && { settledAt }),
    ...(waiting && { waiting }),
    ...(inputSeq !== undefined && { inputSeq }),
    ...(fields.has('answerSeq') && { answer: readAnswer(fields, text) }),
    ...(fields.has('stoppedSeq') && { stopped: { seq: readTextSeq(fields), content: text } }),
    ...(fields.has('failure') && { failure: readTurnFailure(fields) }),
    ...(fields.has('metadata') && { metadata: fields.json('metadata', metadataSchema) }),
    ...readRedrive(fields),
    ...(steeredInto !== undefined && { steeredInto }),
    ...(requests !== undefined && { requests }),
    requestTokens: fields.counts('requestTokens'),
    ...((fields.has('inputTokens') || fields.has('outputTokens')) && { usage }),
  };
  return view as unknown as TurnView; // the scripts write all fields that a turn in this state has
}

function readAnswer(fields: RecordFields, content: string): NonNullable<TurnView['answer']> {
  const seq = readTextSeq(fields) ?? 0;
  const note = fields.text('answerSeq')?.split(' ')[1];
  return note === STRUCTURED
    ? { seq, content, value: readJsonAnswer(content) }
    : { seq, content, ...readEnd(fields, 'answerSeq', note) };
}

function readTextSeq(fields: RecordFields): number | undefined {
  const field = fields.has('answerSeq') ? 'answerSeq' : 'stoppedSeq';
  const text = fields.text(field);
  return text === undefined ? undefined : fields.toSeq(field, text.split(' ')[0]);
}

const PREFIX = 's:';
const CLAIM_FIELDS = ['head', 'attempts', 'lease'] as const;

export interface TurnClaim {
  /** Number of claims since the last recorded step, this claim included. */
  readonly attempts: number;
  /** Absent after the worker has handed the turn back. */
  readonly leaseUntil?: number;
}

export interface RecordedSteps {
  /** Records of steps, by the key of the step. Waits are recorded as steps, too. */
  readonly steps: ReadonlyMap<string, StepRecord>;
  /** Present while the turn is the first of its conversation and a worker has claimed it. */
  readonly claim?: TurnClaim;
}

async function readSteps(
  redis: Redis,
  keyspace: Keyspace,
  conversation: ConversationRef,
  turn: string,
): Promise<RecordedSteps | undefined> {
  const key = keyspace.turn(conversation, turn);
  // Answers of services lie in the same hash and may be large, so only the fields of steps are read, by their names.
  const names = await callStore(() => redis.hkeys(key));
  if (names.length === 0) return undefined;
  const [c, mb] = [keyspace.key(conversation, 'c'), keyspace.key(conversation, 'mb')];
  const [fields, record, first] = await Promise.all([
    RecordFields.pick(redis, key, ['state', ...names.filter((name) => name.startsWith(PREFIX))]),
    RecordFields.pick(redis, c, CLAIM_FIELDS),
    callStore(() => redis.lindex(mb, 0)),
  ]);
  const head = record.count('head') ?? 0;
  const attempts = first === turn ? (record.count('attempts') ?? 0) : 0;
  const leaseUntil = record.count('lease');
  const steps = fields.withPrefix(PREFIX).map(([step, text]) => {
    return [step, decodeStep(fields, { key: step, record: text, head })] as const;
  });
  return {
    steps: new Map(steps),
    ...(attempts > 0 && { claim: { attempts, ...(leaseUntil !== undefined && { leaseUntil }) } }),
  };
}
