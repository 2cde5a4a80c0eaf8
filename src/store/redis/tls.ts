import { createPrivateKey, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { TurnfoldError } from '../../domain/errors.ts';
import { listNodes, type RedisLocation, type RedisNode, type RedisTls, readRedisAddress, usesTls } from './address.ts';

export type TlsOptions = Pick<ConnectionOptions, 'ca' | 'cert' | 'key' | 'servername'>;

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

export const PEM_CERTIFICATE = 'must be one or more certificates in PEM';
export const PEM_KEY = 'must be a private key in PEM, without a passphrase';

/**
 * Builds the TLS options and checks the certificates, because OpenSSL would skip an unreadable authority and then trust
 * none.
 * @throws invalid_config if a text is not a valid certificate or key, with the field
 */
export function makeTlsOptions(tls: RedisTls = {}): TlsOptions {
  const { ca, cert, key, serverName } = tls;
  if (ca !== undefined && !isCertificate(ca)) throw refuse('ca', PEM_CERTIFICATE);
  if (cert !== undefined && !isCertificate(cert)) throw refuse('cert', PEM_CERTIFICATE);
  if (key !== undefined && !isPrivateKey(key)) throw refuse('key', PEM_KEY);
  const misfit = findMisfit(tls);
  if (misfit !== undefined) throw refuse(misfit.field, misfit.message);
  return {
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(serverName !== undefined && { servername: serverName }),
  };
}

function refuse(name: keyof RedisTls, message: string): TurnfoldError {
  const field = `redisTls.${name}`;
  return new TurnfoldError('invalid_config', `${field}: ${message}`, { field });
}

export function isCertificate(pem: string): boolean {
  const found = readCertificates(pem);
  return found !== undefined && found.length > 0;
}

export function isPrivateKey(pem: string): boolean {
  try {
    createPrivateKey(pem);
    return true;
  } catch {
    return false;
  }
}

export function findMisfit({ cert, key }: RedisTls): { field: 'cert' | 'key'; message: string } | undefined {
  if (cert === undefined && key === undefined) return undefined;
  if (key === undefined) return { field: 'key', message: 'missing: a certificate is no use without its key' };
  if (cert === undefined) return { field: 'cert', message: 'missing: a key is no use without its certificate' };
  // The first certificate is the client's own. The others lead from it to its authority.
  const fits = readCertificates(cert)?.[0]?.checkPrivateKey(createPrivateKey(key)) === true;
  return fits ? undefined : { field: 'key', message: 'is not the key of the certificate' };
}

export function showCertificates(pem: string): string {
  const found = readCertificates(pem) ?? [];
  return found.map(({ subject, validTo }) => `${subject.replaceAll('\n', ', ')}, until ${validTo}`).join('; ');
}

function readCertificates(pem: string): X509Certificate[] | undefined {
  try {
    return (pem.match(CERTIFICATE) ?? []).map((one) => new X509Certificate(one));
  } catch {
    return undefined;
  }
}

export interface CertificateTerm {
  readonly whose: string;
  readonly until: Date;
}

const HANDSHAKE_MS = 1_000;

/**
 * Reads when our certificate and that of each server expire. In each chain, the earliest expiry counts. Servers that
 * cannot be reached or are not trusted are left out.
 * @throws invalid_config if a TLS setting is invalid
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

/** Earliest expiry in a chain. Node gives the topmost authority no issuer. */
function findEnd({ validToDate, issuerCertificate }: X509Certificate): Date {
  if (issuerCertificate === undefined) return validToDate;
  const above = findEnd(issuerCertificate);
  return above < validToDate ? above : validToDate;
}
