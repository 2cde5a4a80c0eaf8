import { stat, statfs } from 'node:fs/promises';
import type { Durability } from '../domain/durability.ts';
import type { RedisLocation } from '../domain/redis-tls.ts';
import { isAtLeast, LEAST_REDIS } from '../domain/version-number.ts';
import { type CertificateTerm, readCertificateTerms } from '../redis/certificate-terms.ts';
import type { Inspection } from '../store/inspection/open-inspection.ts';
import type { ServerFacts } from '../store/inspection/server-facts.ts';
import type { MasterAnswers } from '../store/server-info.ts';
import { type Finding, findOk, findWarning, findWrong } from './finding.ts';

/** Checks every master that takes writes. */
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

/** @param missing a master of a Cluster that has slots, or slots without a master */
function tellSilent(whoever: string): Finding {
  const remedy =
    'Start it, or a replica of it, or see the network between here and there. Of slots without one: redis-cli --cluster fix.';
  return findWrong('redis', `nobody answers for ${whoever}: conversations that lie there wait`, remedy);
}

/** Reports one finding if all masters of a Cluster agree, else one per master. */
function lookAtEach(servers: readonly ServerFacts[], look: (server: ServerFacts) => Finding): Finding[] {
  const findings = servers.map(look);
  if (new Set(findings.map(({ what }) => what)).size === 1) return findings.slice(0, 1);
  return findings.map((finding, index) => ({ ...finding, what: `${servers[index]?.node}: ${finding.what}` }));
}

function examineVersion({ name, version, redisVersion }: ServerFacts): Finding {
  const what = `${name} ${version}`;
  // The queues need less.
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

/** Fractions of `maxmemory` above which the doctor warns, and above which writes will soon fail. */
const NEARLY_FULL = 0.8;
const FULL = 0.95;

function examineMemory({ usedBytes, limitBytes }: ServerFacts): Finding {
  const name = 'memory';
  const used = formatBytes(usedBytes);
  if (limitBytes === 0) {
    const remedy = 'Set maxmemory below what its machine has: then writes are refused before the system kills it.';
    return findWarning(name, `${used} used, without a limit`, remedy);
  }
  const share = usedBytes / limitBytes;
  const what = `${used} of ${formatBytes(limitBytes)} used (${Math.round(share * 100)} %)`;
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

function formatBytes(bytes: number): string {
  const mebibytes = bytes / 1_048_576;
  return mebibytes < 1_024 ? `${mebibytes.toFixed(1)} MiB` : `${(mebibytes / 1_024).toFixed(1)} GiB`;
}

/** A rewrite writes a second file while the first one grows. */
const REWRITE_FACTOR = 3;
const LEAST_BYTES = 1_073_741_824;

/** Checks free space for append-only files on this machine. Disks of other machines cannot be read. */
export async function examineDisk(servers: readonly ServerFacts[]): Promise<Finding[]> {
  return await Promise.all(
    servers.filter(({ appendOnly }) => appendOnly.isOn).map(({ appendOnly }) => examineFolder(appendOnly)),
  );
}

async function examineFolder({ folder, bytes }: { folder: string | undefined; bytes: number }): Promise<Finding> {
  const name = 'disk';
  const freeBytes = folder === undefined ? undefined : await readFreeBytes(folder);
  if (freeBytes === undefined)
    return findOk(name, `${formatBytes(bytes)} written; what is free cannot be seen from here`);
  const what = `${formatBytes(bytes)} written, ${formatBytes(freeBytes)} free`;
  if (freeBytes >= Math.max(LEAST_BYTES, REWRITE_FACTOR * bytes)) return findOk(name, what);
  const remedy = 'Make room: a rewrite of the file needs its size once more, and Redis refuses writes on a full disk.';
  return findWarning(name, what, remedy);
}

async function readFreeBytes(folder: string): Promise<number | undefined> {
  try {
    await stat(folder); // the path is the server's, and exists here only if Redis runs on this machine
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  } catch {
    return undefined;
  }
}

const DAY_MS = 86_400_000;
/** Open connections outlive their certificate. The end shows only when a worker starts or fails over. */
const NOTICE_DAYS = 14;

/** Checks when the certificates of the configured address expire. */
export async function examineCertificates(location: RedisLocation, now = Date.now()): Promise<Finding[]> {
  const terms = await readCertificateTerms(location);
  return terms.map((term) => examineTerm(term, now));
}

function examineTerm({ whose, until }: CertificateTerm, now: number): Finding {
  const name = 'certificate';
  const days = Math.floor((until.getTime() - now) / DAY_MS);
  const what = `${whose}: until ${until.toISOString().slice(0, 10)}`;
  const remedy = whose === 'ours' ? RENEW_OURS : 'Renew it there. Workers need nothing.';
  if (until.getTime() <= now) return findWrong(name, `${what}: it has expired`, remedy);
  if (days >= NOTICE_DAYS) return findOk(name, what);
  return findWarning(name, `${what}: ${days === 1 ? '1 day is left' : `${days} days are left`}`, remedy);
}

const RENEW_OURS = 'Renew it (REDIS_CERT_FILE, REDIS_KEY_FILE) and restart the workers: they read it at their start.';
