import { describe, expect, onTestFinished, test } from 'vitest';
import { type Authority, createAuthority, findTlsObstacle } from '../redis-modes/certificates.ts';
import { startSentinels } from '../redis-modes/sentinels.ts';
import { type Server, type ServerTls, startServer } from '../redis-modes/servers.ts';
import { startSixNodes } from '../redis-modes/six-nodes.ts';
import { readJsonLines, runTurnfold, spawnTurnfold } from './run-turnfold.ts';
import { AGENTS, startWorkerProcess } from './worker-process.ts';

const obstacle = await findTlsObstacle();
const NAMES = 'DNS:localhost,IP:127.0.0.1';

async function start(tls?: ServerTls): Promise<Server> {
  const server = await startServer({ tls });
  onTestFinished(() => server.stop());
  return server;
}

async function startTls(authority: Authority): Promise<Server> {
  return await start({ certificate: await authority.issue(NAMES), caFile: authority.certFile });
}

describe.skipIf(obstacle !== undefined)(`over TLS (skipped if: ${obstacle ?? 'no obstacle'})`, () => {
  test.each<[string, (tls: ServerTls) => Promise<{ url: string }>]>([
    ['one server', start],
    ['Sentinels', startSentinels],
    ['a Cluster', startSixNodes],
  ])(
    'a worker and commands use %s over TLS with a client certificate, and doctor reports no TLS problem',
    { timeout: 60_000 },
    async (_, run) => {
      const authority = await createAuthority();
      const certificate = await authority.issue(NAMES);
      const { url } = await run({ certificate, caFile: authority.certFile, asksClients: true });
      const { certFile, keyFile } = await authority.issue('DNS:worker');
      const env = {
        REDIS_URL: url,
        REDIS_CA_FILE: authority.certFile,
        REDIS_CERT_FILE: certFile,
        REDIS_KEY_FILE: keyFile,
      };
      const worker = startWorkerProcess(env);
      await worker.untilLogged('worker started');
      const asked = await runTurnfold(['enqueue', 'c1', 'hello', '--agent', 'workspace', '--stream', '--json'], {
        env,
      });
      expect(asked, JSON.stringify(worker.lines)).toMatchObject({ code: 0, stderr: '' });
      expect(readJsonLines(asked.stdout).at(-1)).toMatchObject({ type: 'end', view: { state: 'completed' } });
      const doctor = await runTurnfold(['doctor'], { env });
      // These servers run without an append-only file, which doctor reports.
      for (const line of doctor.stdout.match(/^wrong.*$/gm) ?? []) expect(line).toMatch(/^wrong +append-only file /);
      expect(doctor.code).toBe(1);
      expect(await worker.stop()).toBe(0);
      expect(worker.lines.filter(({ event }) => event === 'worker_failed')).toEqual([]);
    },
  );

  test.each<[string, RegExp, (authority: Authority) => Promise<string>]>([
    [
      'one server',
      /: its certificate is not signed by a trusted authority/,
      async (authority) => (await startTls(authority)).url,
    ],
    [
      'Sentinels',
      /: of 127\.0\.0\.1:\d+: its certificate is not signed by a trusted authority/,
      async (authority) => `rediss+sentinel://127.0.0.1:${(await startTls(authority)).port},127.0.0.1:1/main`,
    ],
    // A server without TLS ignores the handshake and waits for more input.
    ['a server without TLS', /: it speaks no TLS on this port/, async () => (await start()).url.replace('s:', 'ss:')],
  ])(
    'commands and workers exit with 78 and one line if TLS fails with %s',
    { timeout: 120_000 },
    async (_, words, open) => {
      const env = { REDIS_URL: await open(await createAuthority()) };
      const [shown, worker, doctor] = await Promise.all([
        runTurnfold(['show', 'c1'], { env }),
        spawnTurnfold(['worker', '--agents', AGENTS], { env }),
        runTurnfold(['doctor', '--json'], { env }),
      ]);
      for (const { code, stderr } of [shown, worker]) {
        expect(code).toBe(78);
        expect(stderr.trim().split('\n')).toHaveLength(1);
        expect(stderr).toMatch(/^turnfold: redis_unavailable: Redis cannot be used: /);
        expect(stderr).toMatch(words);
      }

      const { checks } = JSON.parse(doctor.stdout) as { checks: { name: string; what: string }[] };
      const finding = checks.find(({ name }) => name === 'redis');
      expect(finding).toMatchObject({
        state: 'wrong',
        remedy: expect.stringMatching(/REDIS_CA_FILE|redis instead of/),
      });
      expect(`: ${finding?.what}`).toMatch(words);
    },
  );
});
