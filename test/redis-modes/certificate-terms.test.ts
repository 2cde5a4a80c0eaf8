import { describe, expect, onTestFinished, test } from 'vitest';
import { examineCertificates } from '../../src/health/server-checks.ts';
import { readCertificateTerms } from '../../src/redis/tls.ts';
import { createAuthority, findTlsObstacle } from './certificates.ts';
import { startServer } from './servers.ts';

const obstacle = await findTlsObstacle();
const DAY_MS = 86_400_000;
const NAMES = 'DNS:localhost,IP:127.0.0.1';

/** The authority's own lasts for `days.authority`. */
async function start(days: { readonly authority: number; readonly server: number }) {
  const authority = await createAuthority({ days: days.authority });
  const certificate = await authority.issue(NAMES, { days: days.server });
  const server = await startServer({ tls: { certificate, caFile: authority.certFile, asksClients: false } });
  onTestFinished(() => server.stop());
  return { authority, url: server.url, node: `127.0.0.1:${server.port}` };
}

const daysUntil = (until: Date): number => Math.round((until.getTime() - Date.now()) / DAY_MS);

describe.skipIf(obstacle !== undefined)(
  `until when certificates are taken (${obstacle ?? 'it can be tried here'})`,
  () => {
    test('reads our certificate and that of the server', async () => {
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

    test('counts an authority that ends before its certificate', async () => {
      const { authority, url, node } = await start({ authority: 10, server: 30 });
      const terms = await readCertificateTerms({ url, tls: { ca: authority.cert } });
      expect(terms.map(({ whose, until }) => [whose, daysUntil(until)])).toEqual([[node, 10]]);
    });

    test('leaves out servers that are untrusted, absent or without TLS', async () => {
      const { url } = await start({ authority: 10, server: 10 });
      expect(await readCertificateTerms({ url })).toEqual([]);
      expect(await readCertificateTerms({ url: 'rediss://127.0.0.1:1' })).toEqual([]);
      expect(await examineCertificates({ url: 'redis://127.0.0.1:1' })).toEqual([]);
    });
  },
);
