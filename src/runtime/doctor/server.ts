import type { Durability } from '../../domain/durability.ts';
import { type Finding, findOk, findWarning, findWrong } from '../../health/finding.ts';
import { isAtLeast, LEAST_REDIS } from '../../redis/server-checks.ts';
import type { ServerFacts } from '../../redis/server-facts.ts';
import type { MasterAnswers } from '../../redis/servers.ts';
import type { Inspection } from '../../store/inspection.ts';

/** What has to be right about every Redis that takes our writes. */
export async function examineServers(
  { answers: servers, silent }: MasterAnswers<ServerFacts>,
  inspection: Inspection,
  durability: Durability | undefined,
): Promise<Finding[]> {
  const missing = silent.map(tellSilent);
  if (servers.length === 0) {
    const remedy = 'Allow INFO to this user: without it nobody knows whether Redis throws turns away.';
    return [...missing, findWarning('redis', 'it answers, and may not be asked about itself', remedy)];
  }
  const looks: ((server: ServerFacts) => Finding)[] = [
    examineVersion,
    examineWrites,
    examineEviction,
    examineMemory,
    examineAppendOnly,
    examineKeyspaceEvents,
    (server) => examineReplicas(server, durability),
  ];
  const found = looks.flatMap((look) => lookAtEach(servers, look));
  return [...missing, ...found, await examineDisks(inspection, durability)];
}

/** Of a Cluster a master that has slots, or slots that no master has. */
function tellSilent(whoever: string): Finding {
  const remedy =
    'Start it, or a replica of it, or see the network between here and there. Of slots without one: redis-cli --cluster fix.';
  return findWrong('redis', `nobody answers for ${whoever}: conversations that lie there wait`, remedy);
}

/** Acknowledged once where all masters of a Cluster are alike, else of each by its name. */
function lookAtEach(servers: readonly ServerFacts[], look: (server: ServerFacts) => Finding): Finding[] {
  const findings = servers.map(look);
  if (new Set(findings.map(({ what }) => what)).size === 1) return findings.slice(0, 1);
  return findings.map((finding, index) => ({ ...finding, what: `${servers[index]?.node}: ${finding.what}` }));
}

function examineVersion({ name, version, redisVersion }: ServerFacts): Finding {
  const what = `${name} ${version}`;
  // The queues ask for less.
  return isAtLeast(redisVersion, LEAST_REDIS)
    ? findOk('redis', what)
    : findWrong('redis', `${what}; turnfold needs ${LEAST_REDIS}`, UPGRADE);
}

const UPGRADE = 'Upgrade it: 7.2 or later can wait for disks as well.';

function examineWrites({ writeRefusal }: ServerFacts): Finding {
  const name = 'writes';
  if (writeRefusal === undefined) return findOk(name, 'it takes them');
  const remedy = 'See its disk, its memory and its replicas; NOPERM: allow EVAL and EVALSHA to this user.';
  return findWrong(name, `it refuses them: ${writeRefusal}`, remedy);
}

function examineEviction({ evictionPolicy: policy, evictedKeys }: ServerFacts): Finding {
  const name = 'eviction';
  if (policy === undefined) return findWarning(name, 'it does not say', 'See that maxmemory-policy is noeviction.');
  if (policy !== 'noeviction') {
    return findWrong(
      name,
      `maxmemory-policy is ${policy}: once full, Redis would throw accepted turns away; workers refuse it`,
      'CONFIG SET maxmemory-policy noeviction, and the same in its configuration.',
    );
  }
  if (evictedKeys === 0) return findOk(name, 'maxmemory-policy is noeviction');
  const remedy = 'Look for conversations that are gone (turnfold show), and clear it with CONFIG RESETSTAT.';
  return findWarning(name, `noeviction now, but ${evictedKeys} keys were thrown away since it started`, remedy);
}

/** Of its limit: writes will be refused soon, and very soon. */
const NEARLY_FULL = 0.8;
const FULL = 0.95;

function examineMemory({ usedBytes, limitBytes }: ServerFacts): Finding {
  const name = 'memory';
  const used = tellBytes(usedBytes);
  if (limitBytes === 0) {
    const remedy = 'Set maxmemory below what its machine has: then writes are refused before the system kills it.';
    return findWarning(name, `${used} used, without a limit`, remedy);
  }
  const share = usedBytes / limitBytes;
  const what = `${used} of ${tellBytes(limitBytes)} used (${Math.round(share * 100)} %)`;
  const remedy = 'Raise maxmemory, or erase conversations that nobody needs.';
  if (share >= FULL) return findWrong(name, what, remedy);
  return share >= NEARLY_FULL ? findWarning(name, what, remedy) : findOk(name, what);
}

function examineAppendOnly({ appendOnly: { isOn, hasFailed, fsync } }: ServerFacts): Finding {
  const name = 'append-only file';
  if (!isOn) {
    const remedy = 'CONFIG SET appendonly yes, and the same in its configuration.';
    return findWrong(name, 'off: a restart of Redis loses what was acknowledged since its last snapshot', remedy);
  }
  if (hasFailed) return findWrong(name, 'its last write or rewrite failed', 'See the log of Redis, and its disk.');
  if (fsync === undefined) return findOk(name, 'on; how often it reaches the disk may not be asked');
  if (fsync === 'no') {
    const remedy = 'CONFIG SET appendfsync everysec.';
    return findWarning(name, 'on, but appendfsync is no: a power loss takes half a minute with it', remedy);
  }
  return findOk(name, fsync === 'always' ? 'on, at each write' : 'on, each second: a power loss takes that with it');
}

function examineKeyspaceEvents({ keyspaceEvents = '' }: ServerFacts): Finding {
  const name = 'keyspace notifications';
  if (keyspaceEvents === '') return findOk(name, 'off; turnfold needs none');
  const remedy = "CONFIG SET notify-keyspace-events '', unless another program listens.";
  return findWarning(name, `on (${keyspaceEvents}): each write costs more, and turnfold needs none`, remedy);
}

function examineReplicas({ replicas }: ServerFacts, durability: Durability | undefined): Finding {
  const name = 'replicas';
  const wanted = durability?.replicas ?? 0;
  if (replicas >= wanted) return findOk(name, `${replicas} online, ${wanted} have to hold a write`);
  return findWrong(
    name,
    `${replicas} online, and ${wanted} have to hold a write: each accept is answered accepted_unsure`,
    'Bring the replicas back, or lower TURNFOLD_DURABLE_REPLICAS.',
  );
}

async function examineDisks(inspection: Inspection, durability: Durability | undefined): Promise<Finding> {
  const name = 'waiting for disks';
  const isAsked = durability?.fsync !== undefined;
  const knows = await inspection.canWaitForDisks();
  if (knows === true)
    return findOk(name, isAsked ? 'asked for, and known (WAITAOF)' : 'known (WAITAOF), not asked for');
  if (!isAsked) return findOk(name, 'not asked for (TURNFOLD_DURABLE_FSYNC)');
  if (knows === undefined) return findWarning(name, 'asked for; whether it is known may not be asked', UPGRADE);
  return findWrong(
    name,
    'asked for, and this Redis does not know WAITAOF',
    `${UPGRADE} Or: TURNFOLD_DURABLE_FSYNC=none.`,
  );
}

export function tellBytes(bytes: number): string {
  const mebibytes = bytes / 1_048_576;
  return mebibytes < 1_024 ? `${mebibytes.toFixed(1)} MiB` : `${(mebibytes / 1_024).toFixed(1)} GiB`;
}
