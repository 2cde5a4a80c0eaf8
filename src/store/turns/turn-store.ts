import type { Redis } from 'ioredis';
import type { TurnIntake, TurnStore } from '../../domain/ports/turn-store.ts';
import type { Keyspace } from '../keys.ts';
import { bindScript } from '../script.ts';
import { acceptTurnScript } from './accept.ts';
import { keepSystem, readBriefing } from './briefing.ts';
import { cancelTurnScript } from './cancel.ts';
import { claimTurn } from './claim.ts';
import { heartbeatTurnScript } from './heartbeat.ts';
import { listFailed } from './list-failed.ts';
import { bindListOpen } from './list-open.ts';
import { readTurn } from './read-turn.ts';
import { recordStep } from './record-step.ts';
import { releaseTurn } from './release.ts';
import { resumeTurn } from './resume.ts';
import { rollBackVersion } from './roll-back.ts';
import { settleTurn } from './settle.ts';
import { startAlone } from './start-alone.ts';
import { startSteps } from './start-steps.ts';
import { suspendTurn } from './suspend.ts';

/** Turns in Redis. Every operation is one script, but for those that only read. */
export function openTurnStore(redis: Redis, keyspace: Keyspace): TurnStore & TurnIntake {
  const accept = bindScript(redis, acceptTurnScript(keyspace));
  const claim = bindScript(redis, claimTurn(keyspace));
  const start = bindScript(redis, startSteps(keyspace));
  const record = bindScript(redis, recordStep(keyspace));
  const suspend = bindScript(redis, suspendTurn(keyspace));
  const resume = bindScript(redis, resumeTurn(keyspace));
  const heartbeat = bindScript(redis, heartbeatTurnScript(keyspace));
  const release = bindScript(redis, releaseTurn(keyspace));
  const rollBack = bindScript(redis, rollBackVersion(keyspace));
  const settle = bindScript(redis, settleTurn(keyspace));
  const keep = bindScript(redis, keepSystem(keyspace));
  const cancel = bindScript(redis, cancelTurnScript(keyspace));
  return {
    accept,
    answerTurn: resume,
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
