import type { Redis } from 'ioredis';
import type { PassStore } from '../../domain/ports/pass-store.ts';
import { checkNumber } from '../../domain/version.ts';
import type { Keyspace } from '../keys.ts';
import { bindScript } from '../script.ts';
import { claimPass } from './claim.ts';
import { commitVersion } from './commit-version.ts';
import { endPass } from './end.ts';
import { heartbeatPassScript } from './heartbeat.ts';
import { parkPass } from './park.ts';
import { proposeVersion } from './propose.ts';
import { readReasonsScript } from './read-reasons.ts';
import { recordPlan } from './record-plan.ts';
import { refuseApproval } from './refuse-approval.ts';
import { releasePass } from './release.ts';
import { requestPassScript } from './request.ts';
import { takeOverPassScript } from './take-over.ts';

/** Passes in Redis. Every operation is one script. */
export function openPassStore(redis: Redis, keyspace: Keyspace): PassStore {
  const request = bindScript(redis, requestPassScript(keyspace));
  const claim = bindScript(redis, claimPass(keyspace));
  const takeOver = bindScript(redis, takeOverPassScript(keyspace));
  const heartbeat = bindScript(redis, heartbeatPassScript(keyspace));
  const reasons = bindScript(redis, readReasonsScript(keyspace));
  const record = bindScript(redis, recordPlan(keyspace));
  const park = bindScript(redis, parkPass(keyspace));
  const end = bindScript(redis, endPass(keyspace));
  const commit = bindScript(redis, commitVersion(keyspace));
  const propose = bindScript(redis, proposeVersion(keyspace));
  const refuse = bindScript(redis, refuseApproval(keyspace));
  return {
    requestPass: request,
    claimPass: (conversation, owner, job, wakeTurn) => claim({ conversation, owner, job, wakeTurn }),
    takeOverPass: (conversation, owner, passId) => takeOver({ conversation, owner, passId }),
    heartbeatPass: heartbeat,
    readReasons: reasons,
    recordPlan: (lease, plan) => record({ lease, plan }),
    releasePass: bindScript(redis, releasePass(keyspace)),
    parkPass: (lease, job, parkMs) => park({ lease, job, parkMs }),
    endPass: (lease, passEnd) => end({ lease, end: passEnd }),
    commitVersion: async (lease, versionCommit) => {
      checkNumber(versionCommit);
      return await commit({ lease, commit: versionCommit });
    },
    proposeVersion: (lease, proposal) => propose({ lease, proposal }),
    refuseApproval: (lease, refusal) => refuse({ lease, refusal }),
  };
}
