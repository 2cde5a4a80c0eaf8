import { stat, statfs } from 'node:fs/promises';
import type { Durability } from '../../domain/durability.ts';
import type { Inspection } from '../../store/inspection.ts';
import type { RedisLocation } from '../../store/redis/address.ts';
import { findOutageCause } from '../../store/redis/outage-causes.ts';
import { isAtLeast, LEAST_REDIS } from '../../store/redis/server-checks.ts';
import type { RedisFacts } from '../../store/redis/server-facts.ts';
import type { MasterAnswers } from '../../store/redis/servers.ts';
import { type CertificateTerm, readCertificateTerms } from '../../store/redis/tls.ts';
import { type Finding, findOk, findWarning, findWrong } from './finding.ts';

export async function examineServers(
  { answers: servers, silent }: MasterAnswers<RedisFacts>,
  inspection: Inspection,
  durability: Durability | undefined,
): Promise<Finding[]> {
  const missing = silent.map(reportSilent);
  if (servers.length === 0) {
    const remedy = 'Allow the command INFO for this Redis user. Without INFO, an eviction of turns goes unnoticed.';
    return [...missing, findWarning('redis', 'Redis answers, but this user may not run INFO', remedy)];
  }
  const checks: ((server: RedisFacts) => Finding)[] = [
    examineVersion,
    examineWrites,
    examineEviction,
    examineMemory,
    examineAppendOnly,
    examineKeyspaceEvents,
    (server) => examineReplicas(server, durability),
  ];
  const found = checks.flatMap((check) => checkEach(servers, check));
  return [...missing, ...found, await examineDisks(inspection, durability)];
}

/** @param missing address of a Cluster master that does not answer, or the number of slots without a master */
function reportSilent(missing: string): Finding {
  const remedy =
    'Start this server or one of its replicas, or check the network. ' +
    'For slots without a master, run: redis-cli --cluster fix.';
  return findWrong('redis', `${missing}: no answer, so the conversations stored there make no progress`, remedy);
}

/** One finding if all masters of a Cluster agree, else one for each. */
function checkEach(servers: readonly RedisFacts[], check: (server: RedisFacts) => Finding): Finding[] {
  const findings = servers.map(check);
  if (new Set(findings.map(({ what }) => what)).size === 1) return findings.slice(0, 1);
  return findings.map((finding, index) => ({ ...finding, what: `${servers[index]?.node}: ${finding.what}` }));
}

function examineVersion({ name, version, redisVersion }: RedisFacts): Finding {
  const what = `${name} ${version}`;
  // BullMQ accepts older versions than the scripts of turnfold do.
  return isAtLeast(redisVersion, LEAST_REDIS)
    ? findOk('redis', what)
    : findWrong('redis', `${what}, but turnfold needs ${LEAST_REDIS}`, UPGRADE);
}

const UPGRADE = 'Upgrade Redis. From version 7.2 on, Redis can confirm writes to disk (WAITAOF).';

function examineWrites({ writeRefusal }: RedisFacts): Finding {
  const name = 'writes';
  if (writeRefusal === undefined) return findOk(name, 'accepted');
  const cause = findOutageCause(writeRefusal);
  if (cause !== undefined) return findWrong(name, `refused: ${cause.words}`, cause.remedy);
  const isFull = writeRefusal.startsWith('OOM');
  const remedy = isFull ? 'Raise maxmemory, or erase conversations.' : 'Allow EVAL and EVALSHA for this Redis user.';
  return findWrong(name, `refused: ${writeRefusal}`, remedy);
}

function examineEviction({ evictionPolicy: policy, evictedKeys }: RedisFacts): Finding {
  const name = 'eviction';
  if (policy === undefined)
    return findWarning(
      name,
      'maxmemory-policy is unknown: Redis does not report it',
      'Check that maxmemory-policy is noeviction.',
    );
  if (policy !== 'noeviction') {
    return findWrong(
      name,
      `maxmemory-policy is ${policy}: a full Redis would evict accepted turns, so workers refuse to start`,
      'Run CONFIG SET maxmemory-policy noeviction, and set the same in the Redis configuration file.',
    );
  }
  if (evictedKeys === 0) return findOk(name, 'maxmemory-policy is noeviction');
  const remedy = 'Look for lost conversations (turnfold show), then reset the count with CONFIG RESETSTAT.';
  return findWarning(
    name,
    `maxmemory-policy is noeviction now, but Redis has evicted ${evictedKeys} keys since it started`,
    remedy,
  );
}

/** Fraction of `maxmemory` from which a check warns. From `FULL` on the check fails, because writes will soon fail. */
const NEARLY_FULL = 0.8;
const FULL = 0.95;

function examineMemory({ usedBytes, limitBytes }: RedisFacts): Finding {
  const name = 'memory';
  const used = formatBytes(usedBytes);
  if (limitBytes === 0) {
    const remedy =
      'Set maxmemory below the memory of the machine. Then Redis refuses writes before the system kills Redis.';
    return findWarning(name, `${used} of memory used, and maxmemory sets no limit`, remedy);
  }
  const share = usedBytes / limitBytes;
  const what = `${used} of ${formatBytes(limitBytes)} of maxmemory used (${Math.round(share * 100)} %)`;
  const remedy = 'Raise maxmemory, or erase conversations.';
  if (share >= FULL) return findWrong(name, what, remedy);
  return share >= NEARLY_FULL ? findWarning(name, what, remedy) : findOk(name, what);
}

function examineAppendOnly({ appendOnly: { isOn, hasFailed, fsync } }: RedisFacts): Finding {
  const name = 'append-only file';
  if (!isOn) {
    const remedy = 'Run CONFIG SET appendonly yes, and set the same in the Redis configuration file.';
    return findWrong(name, 'off: a restart of Redis loses acknowledged writes since its last snapshot', remedy);
  }
  if (hasFailed)
    return findWrong(
      name,
      'the last write or rewrite of the append-only file failed',
      'Check the log and the disk of Redis.',
    );
  if (fsync === undefined) return findOk(name, 'on, but Redis does not report appendfsync');
  if (fsync === 'no') {
    const remedy = 'Run CONFIG SET appendfsync everysec.';
    return findWarning(name, 'on, but appendfsync is no: a power loss loses up to 30 s of writes', remedy);
  }
  return findOk(
    name,
    fsync === 'always' ? 'on, synced at each write' : 'on, synced each second: a power loss loses up to 1 s of writes',
  );
}

function examineKeyspaceEvents({ keyspaceEvents = '' }: RedisFacts): Finding {
  const name = 'keyspace notifications';
  if (keyspaceEvents === '') return findOk(name, 'off, and turnfold needs none');
  const remedy = "CONFIG SET notify-keyspace-events '', unless another program listens.";
  return findWarning(name, `on (${keyspaceEvents}): they slow down each write, and turnfold does not use them`, remedy);
}

function examineReplicas({ replicas }: RedisFacts, durability: Durability | undefined): Finding {
  const name = 'replicas';
  const wanted = durability?.replicas ?? 0;
  if (replicas >= wanted) return findOk(name, `${replicas} replicas are online, ${wanted} must confirm a write`);
  return findWrong(
    name,
    `${replicas} replicas are online, but ${wanted} must confirm a write: every new turn fails with accepted_unsure`,
    'Bring the replicas back, or lower TURNFOLD_DURABLE_REPLICAS.',
  );
}

async function examineDisks(inspection: Inspection, durability: Durability | undefined): Promise<Finding> {
  const name = 'waiting for disks';
  const isAsked = durability?.fsync !== undefined;
  const knows = await inspection.canWaitForDisks();
  if (knows === true)
    return findOk(name, isAsked ? 'requested and supported (WAITAOF)' : 'supported (WAITAOF), not requested');
  if (!isAsked) return findOk(name, 'not requested (TURNFOLD_DURABLE_FSYNC)');
  if (knows === undefined)
    return findWarning(name, 'requested, but Redis does not report whether it supports WAITAOF', UPGRADE);
  return findWrong(name, 'requested, but this Redis has no WAITAOF', `${UPGRADE} Or: TURNFOLD_DURABLE_FSYNC=none.`);
}

function formatBytes(bytes: number): string {
  const mebibytes = bytes / 1_048_576;
  return mebibytes < 1_024 ? `${mebibytes.toFixed(1)} MiB` : `${(mebibytes / 1_024).toFixed(1)} GiB`;
}

/** A rewrite creates a second append-only file while the first grows, so this multiple of the file should be free. */
const REWRITE_FACTOR = 3;
const LEAST_BYTES = 1_073_741_824;

/** Only a Redis on this machine shows the free space of its disk. */
export async function examineDisk(servers: readonly RedisFacts[]): Promise<Finding[]> {
  return await Promise.all(
    servers.filter(({ appendOnly }) => appendOnly.isOn).map(({ appendOnly }) => examineFolder(appendOnly)),
  );
}

async function examineFolder({ folder, bytes }: { folder: string | undefined; bytes: number }): Promise<Finding> {
  const name = 'disk';
  const freeBytes = folder === undefined ? undefined : await readFreeBytes(folder);
  if (freeBytes === undefined)
    return findOk(name, `${formatBytes(bytes)} written, but this machine cannot read the free space of that disk`);
  const what = `${formatBytes(bytes)} written, ${formatBytes(freeBytes)} free`;
  if (freeBytes >= Math.max(LEAST_BYTES, REWRITE_FACTOR * bytes)) return findOk(name, what);
  const remedy =
    'Free space on the disk. A rewrite needs the size of the file again, and Redis refuses writes on a full disk.';
  return findWarning(name, what, remedy);
}

async function readFreeBytes(folder: string): Promise<number | undefined> {
  try {
    await stat(folder); // The folder is the Redis server's. It exists on this machine only if Redis runs here.
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  } catch {
    return undefined;
  }
}

const DAY_MS = 86_400_000;
/**
 * Days before the end of a certificate when warnings begin. An open connection outlives its certificate, so workers
 * fail only at the next connect.
 */
const NOTICE_DAYS = 14;

export async function examineCertificates(location: RedisLocation, now = Date.now()): Promise<Finding[]> {
  const terms = await readCertificateTerms(location);
  return terms.map((term) => examineTerm(term, now));
}

function examineTerm({ whose, until }: CertificateTerm, now: number): Finding {
  const name = 'certificate';
  const days = Math.floor((until.getTime() - now) / DAY_MS);
  const what = `${whose}: until ${until.toISOString().slice(0, 10)}`;
  const remedy = whose === 'ours' ? RENEW_OURS : 'Renew the certificate on the server. Workers need no change.';
  if (until.getTime() <= now) return findWrong(name, `${what}: it has expired`, remedy);
  if (days >= NOTICE_DAYS) return findOk(name, what);
  return findWarning(name, `${what}: ${days === 1 ? '1 day is left' : `${days} days are left`}`, remedy);
}

const RENEW_OURS =
  'Renew the certificate (REDIS_CERT_FILE, REDIS_KEY_FILE). Then restart the workers, which read these files at start.';
