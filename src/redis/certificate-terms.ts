import type { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { connect as connectTls } from 'node:tls';
import { listNodes, type RedisNode, readRedisAddress, usesTls } from '../domain/redis-address.ts';
import type { RedisLocation } from '../domain/redis-tls.ts';
import { makeTlsOptions, readCertificates, type TlsOptions } from './tls-options.ts';

/** Until when a certificate is taken. */
export interface CertificateTerm {
  /** `ours`, or `HOST:PORT` */
  readonly whose: string;
  readonly until: Date;
}

const HANDSHAKE_MS = 1_000;

/**
 * Of a TLS connection, ours and each server's. Of those that lead to an authority the first to end counts, for then all
 * are refused. Nothing of a server that cannot be reached, or is not trusted: others tell of those.
 * @throws invalid_config
 */
export async function readCertificateTerms({ url, tls }: RedisLocation): Promise<CertificateTerm[]> {
  const address = readRedisAddress(url);
  if (address === undefined || !usesTls(address)) return [];
  const options = makeTlsOptions(tls);
  const [own] = readCertificates(tls?.cert ?? '') ?? [];
  const servers = await Promise.all(listNodes(address).map((node) => readServerTerm(node, options)));
  return [...(own === undefined ? [] : [{ whose: 'ours', until: findEnd(own) }]), ...servers.flat()];
}

async function readServerTerm(node: RedisNode, options: TlsOptions): Promise<CertificateTerm[]> {
  const socket = connectTls({ ...node, ...options });
  try {
    await once(socket, 'secureConnect', { signal: AbortSignal.timeout(HANDSHAKE_MS) });
    const shown = socket.getPeerX509Certificate();
    return shown === undefined ? [] : [{ whose: `${node.host}:${node.port}`, until: findEnd(shown) }];
  } catch {
    return [];
  } finally {
    socket.destroy();
  }
}

/** The authority at the top is its own issuer, and Node gives none for it. */
function findEnd({ validToDate, issuerCertificate }: X509Certificate): Date {
  if (issuerCertificate === undefined) return validToDate;
  const above = findEnd(issuerCertificate);
  return above < validToDate ? above : validToDate;
}
