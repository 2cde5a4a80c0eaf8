import type { Redis } from 'ioredis';
import type { BusyTurnStore } from '../domain/ports/busy-turns.ts';
import type { TurnIntake, TurnStore } from '../domain/ports/turn-store.ts';
import { takeSteeringScript, undoTurnsScript } from './busy-turns.ts';
import { listFailed } from './failed-turns.ts';
import type { Keyspace } from './keys.ts';
import { scriptBinder } from './script.ts';
import { releaseTurnScript, settleTurnScript, suspendTurnScript } from './turn-ends.ts';
import {
  acceptTurnScript,
  answerTurnScript,
  bindListOpen,
  bindReadTurn,
  cancelTurnScript,
  readInputs,
} from './turn-intake.ts';
import {
  claimTurnScript,
  heartbeatTurnScript,
  keepSystemScript,
  readBriefing,
  recordStepScript,
  reportDeathScript,
  rollBackVersionScript,
  startAloneScript,
  startStepsScript,
} from './turn-steps.ts';

/** Opens the store of turns in Redis. Every write is one script. */
export function openTurnStore(redis: Redis, keyspace: Keyspace): TurnStore & BusyTurnStore & TurnIntake {
  const bind = scriptBinder(redis, keyspace);
  return {
    accept: bind(acceptTurnScript),
    answerTurn: bind(answerTurnScript),
    heartbeat: bind(heartbeatTurnScript),
    startAlone: bind(startAloneScript),
    reportDeath: bind(reportDeathScript),
    release: bind(releaseTurnScript),
    claim: bind(claimTurnScript),
    startSteps: bind(startStepsScript),
    readBriefing: (conversation, turn) => readBriefing(redis, keyspace, conversation, turn),
    keepSystem: bind(keepSystemScript),
    recordStep: bind(recordStepScript),
    takeSteering: bind(takeSteeringScript),
    undoTurns: bind(undoTurnsScript),
    suspend: bind(suspendTurnScript),
    rollBackVersion: bind(rollBackVersionScript),
    settle: bind(settleTurnScript),
    cancel: bind(cancelTurnScript),
    readTurn: bindReadTurn(redis, keyspace),
    listFailed: (query) => listFailed(redis, keyspace, query),
    listOpen: bindListOpen(redis, keyspace),
    readInputs: (conversation, turns) => readInputs(redis, keyspace.key(conversation, 'txt'), turns),
  };
}
