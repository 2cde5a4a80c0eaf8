import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type Authority, createAuthority, findTlsObstacle } from '../redis-modes/certificates.ts';
import { startSentinels } from '../redis-modes/sentinels.ts';
import { type Server, type ServerTls, startServer } from '../redis-modes/servers.ts';
import { startSixNodes } from '../redis-modes/six-nodes.ts';
import { readJsonLines, runTurnfold, spawnTurnfold, startTurnfold } from './run-turnfold.ts';

const obstacle = await findTlsObstacle();
const AGENTS = fileURLToPath(new URL('../setup/workspace-agents.ts', import.meta.url));
const NAMES = 'DNS:localhost,IP:127.0.0.1';

interface Worker {
  /** Log lines so far. */
  readonly lines: readonly string[];
  readonly untilSaid: (what: string) => Promise<void>;
  /** @returns its exit code */
  readonly stop: () => Promise<number | null>;
}

function startWorker(env: Record<string, string>): Worker {
  const worker = startTurnfold(['worker', '--agents', AGENTS], env);
  if (worker.stdout === null) throw new Error('its output is not piped');
  const lines: string[] = [];
  createInterface({ input: worker.stdout }).on('line', (line) => lines.push(line));
  return {
    lines,
    untilSaid: (what) => vi.waitFor(() => expect(lines.join('\n')).toContain(what), { timeout: 30_000, interval: 50 }),
    async stop() {
      const exited = once(worker, 'exit');
      worker.kill('SIGTERM');
      await exited;
      return worker.exitCode;
    },
  };
}

async function start(tls?: ServerTls): Promise<Server> {
  const server = await startServer({ tls });
  onTestFinished(() => server.stop());
  return server;
}

async function startTls(authority: Authority): Promise<Server> {
  return await start({ certificate: await authority.issue(NAMES), caFile: authority.certFile });
}

describe.skipIf(obstacle !== undefined)(`over TLS (${obstacle ?? 'it can be tried here'})`, () => {
  test.each<[string, (tls: ServerTls) => Promise<{ url: string }>]>([
    ['one server', start],
    ['Sentinels', startSentinels],
    ['a Cluster', startSixNodes],
  ])(
    '%s: a worker answers, a command follows, the doctor finds no fault with TLS',
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
      const worker = startWorker(env);
      await worker.untilSaid('worker started');
      const asked = await runTurnfold(['enqueue', 'c1', 'hello', '--agent', 'workspace', '--stream', '--json'], {
        env,
      });
      expect(asked, worker.lines.join('\n')).toMatchObject({ code: 0, stderr: '' });
      expect(readJsonLines(asked.stdout).at(-1)).toMatchObject({ type: 'result', view: { state: 'completed' } });
      const doctor = await runTurnfold(['doctor'], { env });
      // These servers keep nothing, and the doctor says so.
      for (const line of doctor.stdout.match(/^wrong.*$/gm) ?? []) expect(line).toMatch(/^wrong +append-only file /);
      expect(doctor.code).toBe(1);
      expect(await worker.stop()).toBe(0);
      expect(worker.lines.filter((line) => line.includes('worker_failed'))).toEqual([]);
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
    // Which makes nothing of a handshake, and waits.
    ['a server without TLS', /: it speaks no TLS on this port/, async () => (await start()).url.replace('s:', 'ss:')],
  ])(
    '%s that cannot be trusted ends commands and workers with one line and exit code 78',
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
