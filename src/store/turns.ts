import type { Redis } from 'ioredis';
import type { TurnIntake, TurnStore } from '../domain/ports/turn-store.ts';
import { listFailed } from './failed-turns.ts';
import type { Keyspace } from './keys.ts';
import { bindScript } from './script.ts';
import { releaseTurn, settleTurn, suspendTurn } from './turn-ends.ts';
import { acceptTurnScript, answerTurnScript, bindListOpen, cancelTurnScript, readTurn } from './turn-intake.ts';
import {
  claimTurn,
  heartbeatTurnScript,
  keepSystem,
  readBriefing,
  recordStep,
  rollBackVersion,
  startAlone,
  startSteps,
} from './turn-steps.ts';

/** Turns in Redis. Every write is one script. */
export function openTurnStore(redis: Redis, keyspace: Keyspace): TurnStore & TurnIntake {
  const accept = bindScript(redis, acceptTurnScript(keyspace));
  const claim = bindScript(redis, claimTurn(keyspace));
  const start = bindScript(redis, startSteps(keyspace));
  const record = bindScript(redis, recordStep(keyspace));
  const suspend = bindScript(redis, suspendTurn(keyspace));
  const answer = bindScript(redis, answerTurnScript(keyspace));
  const heartbeat = bindScript(redis, heartbeatTurnScript(keyspace));
  const release = bindScript(redis, releaseTurn(keyspace));
  const rollBack = bindScript(redis, rollBackVersion(keyspace));
  const settle = bindScript(redis, settleTurn(keyspace));
  const keep = bindScript(redis, keepSystem(keyspace));
  const cancel = bindScript(redis, cancelTurnScript(keyspace));
  return {
    accept,
    answerTurn: answer,
    heartbeat: heartbeat,
    startAlone: bindScript(redis, startAlone(keyspace)),
    release: (lease, wake) => release({ lease, wake }),
    claim: (conversation, owner, wake) => claim({ conversation, owner, wake }),
    startSteps: (lease, steps) => start({ lease, steps }),
    readBriefing: (conversation, turn) => readBriefing(redis, keyspace, conversation, turn),
    keepSystem: (lease, system) => keep({ lease, system }),
    recordStep: (lease, outcome) => record({ lease, outcome }),
    suspend: (lease, wait) => suspend({ lease, wait }),
    rollBackVersion: (lease, rollback) => rollBack({ lease, rollback }),
    settle: (lease, settlement, wake) => settle({ lease, settlement, wake }),
    cancel: (conversation, turn, wake) => cancel({ conversation, turn, wake }),
    readTurn: (conversation, turn) => readTurn(redis, keyspace, conversation, turn),
    listFailed: (query) => listFailed(redis, keyspace, query),
    listOpen: bindListOpen(redis, keyspace),
  };
}
