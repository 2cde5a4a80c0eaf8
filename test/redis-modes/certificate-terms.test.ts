import { describe, expect, test } from 'vitest';
import { examineCertificates } from '../../src/host/health/server-checks.ts';
import { readCertificateTerms } from '../../src/store/redis/tls.ts';
import { createAuthority, findTlsObstacle } from './certificates.ts';
import { useServer } from './fixture.ts';

const obstacle = await findTlsObstacle();
const DAY_MS = 86_400_000;
const NAMES = 'DNS:localhost,IP:127.0.0.1';

/** Starts a TLS server. `days` are the days for which the two certificates are valid. */
async function start(days: { readonly authority: number; readonly server: number }) {
  const authority = await createAuthority({ days: days.authority });
  const certificate = await authority.issue(NAMES, { days: days.server });
  const server = await useServer({ tls: { certificate, caFile: authority.certFile, asksClients: false } });
  return { authority, url: server.url, node: `127.0.0.1:${server.port}` };
}

const daysUntil = (until: Date): number => Math.round((until.getTime() - Date.now()) / DAY_MS);

describe.skipIf(obstacle !== undefined)(`ends of certificates (${obstacle ?? 'openssl is available'})`, () => {
  test('turnfold doctor reports when the client certificate and the server certificate expire', async () => {
    const { authority, url, node } = await start({ authority: 90, server: 30 });
    const { cert, key } = await authority.issue('DNS:worker', { days: 7 });
    const location = { url, tls: { ca: authority.cert, cert, key } };
    const terms = await readCertificateTerms(location);
    expect(terms.map(({ whose, until }) => [whose, daysUntil(until)])).toEqual([
      ['ours', 7],
      [node, 30],
    ]);
    expect(await examineCertificates(location)).toMatchObject([
      { name: 'certificate', state: 'warning', what: expect.stringMatching(/^ours: until .*: 6 days are left$/) },
      { name: 'certificate', state: 'ok', what: expect.stringContaining(node) },
    ]);
    const later = await examineCertificates(location, Date.now() + 8 * DAY_MS);
    expect(later).toMatchObject([
      { state: 'wrong', what: expect.stringMatching(/: it has expired$/) },
      { state: 'ok' },
    ]);
  });

  test('the reported expiry of a certificate is that of its authority if the authority expires earlier', async () => {
    const { authority, url, node } = await start({ authority: 10, server: 30 });
    const terms = await readCertificateTerms({ url, tls: { ca: authority.cert } });
    expect(terms.map(({ whose, until }) => [whose, daysUntil(until)])).toEqual([[node, 10]]);
  });

  test('readCertificateTerms leaves out a server that is untrusted, absent or without TLS', async () => {
    const { url } = await start({ authority: 10, server: 10 });
    expect(await readCertificateTerms({ url })).toEqual([]);
    expect(await readCertificateTerms({ url: 'rediss://127.0.0.1:1' })).toEqual([]);
    expect(await examineCertificates({ url: 'redis://127.0.0.1:1' })).toEqual([]);
  });
});
