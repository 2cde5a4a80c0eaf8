import { type Finding, findOk, findWarning, findWrong } from '../../health/finding.ts';
import type { RedisLocation } from '../../redis/address.ts';
import { type CertificateTerm, readCertificateTerms } from '../../redis/tls.ts';

const DAY_MS = 86_400_000;
/** Connections that stand go on past the end; nobody notices before each worker that starts, or a failover, is refused. */
const NOTICE_DAYS = 14;

/** Until when TLS to Redis goes on, of those that the address names. */
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
