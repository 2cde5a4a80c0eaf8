import type { Redis } from 'ioredis';
import type { ConversationRef } from '../domain/ids.ts';
import { type FailedQuery, listFailed } from './failed-turns.ts';
import type { Keyspace } from './keys.ts';
import { bindListOpen } from './open-turns.ts';
import { scriptBinder } from './script.ts';
import { answerTurnScript } from './turn-answers.ts';
import { claimTurnScript, heartbeatTurnScript, reportDeathScript, startAloneScript } from './turn-claims.ts';
import { releaseTurnScript, settleTurnScript, suspendTurnScript } from './turn-ends.ts';
import { acceptTurnScript, cancelTurnScript, readInputs } from './turn-intake.ts';
import {
  keepSystemScript,
  readBriefing,
  recordStepScript,
  rollBackVersionScript,
  startStepsScript,
} from './turn-steps.ts';
import { bindReadTurn } from './turn-view.ts';

/**
 * Opens the turns of turn workers in Redis. Every write is one script, which checks the worker's lease (invariant I4) and
 * has no effect when repeated (invariant I5).
 */
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
    settle: bind(settleTurnScript),
  };
}

export type TurnStore = ReturnType<typeof openTurnStore>;

/** Opens the turns of client calls in Redis: they are accepted, answered, canceled and read. */
export function openTurnIntake(redis: Redis, keyspace: Keyspace) {
  const bind = scriptBinder(redis, keyspace);
  return {
    accept: bind(acceptTurnScript),
    answerTurn: bind(answerTurnScript),
    cancel: bind(cancelTurnScript),
    readTurn: bindReadTurn(redis, keyspace),
    listFailed: (query: FailedQuery) => listFailed(redis, keyspace, query),
    listOpen: bindListOpen(redis, keyspace),
    readInputs: (conversation: ConversationRef, turns: readonly string[]) =>
      readInputs(redis, keyspace.key(conversation, 'txt'), turns),
  };
}

export type TurnIntake = ReturnType<typeof openTurnIntake>;
