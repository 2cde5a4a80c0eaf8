import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startTurnfold } from '../cli/run-turnfold.ts';
import { hasServer, type Server, startServer } from './servers.ts';

const AGENTS = fileURLToPath(new URL('../setup/workspace-agents.ts', import.meta.url));

interface Worker {
  readonly process: ChildProcess;
  readonly started: Promise<void>;
  readonly ended: Promise<{
    readonly code: number | null;
    /** Lines of the worker's log that report failures. */
    readonly failures: readonly string[];
    readonly log: string;
  }>;
}

function startWorker(url: string): Worker {
  const worker = startTurnfold(['worker', '--agents', AGENTS], { REDIS_URL: url, TURNFOLD_SHUTDOWN_MS: '3000' });
  if (worker.stdout === null) throw new Error('the output of the worker is not piped');
  const lines: string[] = [];
  const started = Promise.withResolvers<void>();
  createInterface({ input: worker.stdout }).on('line', (line) => {
    lines.push(line);
    if (line.includes('worker started')) started.resolve();
  });
  const ended = once(worker, 'close').then(() => ({
    code: worker.exitCode,
    failures: lines.filter((line) => line.includes('worker_failed')),
    log: lines.join('\n'),
  }));
  return { process: worker, started: started.promise, ended };
}

async function startPrivate(port?: number, password = 'pw'): Promise<Server> {
  const server = await startServer(port === undefined ? {} : { port });
  onTestFinished(() => server.stop());
  await server.redis.call('ACL', ['SETUSER', 'app', 'on', `>${password}`, '~*', '&*', '+@all']);
  return server;
}

/** A worker with all roles serves the queues of turns, compactions and summarizations. */
const QUEUES = 3;

interface Connections {
  readonly open: number;
  /** Connections that wait for a job, one for each queue. */
  readonly waiting: number;
}

/** Counts the connections of the worker. */
async function countConnections({ redis }: Server): Promise<Connections> {
  const clients = String(await redis.call('CLIENT', ['LIST'])).split('\n');
  const own = clients.filter((client) => client.includes(' user=app '));
  return { open: own.length, waiting: own.filter((client) => client.includes(' cmd=bzpopmin ')).length };
}

const disconnectAll = ({ redis }: Server): Promise<unknown> => redis.call('CLIENT', ['KILL', 'TYPE', 'normal']);

describe.skipIf(!hasServer)('a running worker whose access ends (skipped where PATH has no server)', () => {
  test.each<[string, RegExp, (server: Server) => Promise<unknown>]>([
    [
      'the password of its user changes',
      /WRONGPASS/,
      async (server) => {
        await server.redis.call('ACL', ['SETUSER', 'app', 'resetpass', '>other']);
        await disconnectAll(server);
      },
    ],
    ['its user is removed', /WRONGPASS/, ({ redis }) => redis.call('ACL', ['DELUSER', 'app'])],
    ['its ACL loses a command', /NOPERM.*\+evalsha/, ({ redis }) => redis.call('ACL', ['SETUSER', 'app', '-evalsha'])],
    [
      'Redis restarts with another password',
      /WRONGPASS/,
      async (server) => {
        server.signal('SIGKILL');
        await startPrivate(server.port, 'other');
      },
    ],
  ])('a running worker logs one denial and exits with 78 if %s', { timeout: 120_000 }, async (_, words, endAccess) => {
    const server = await startPrivate();
    const worker = startWorker(`redis://app:pw@127.0.0.1:${server.port}`);
    await worker.started;
    await endAccess(server);
    const { code, failures, log } = await worker.ended;
    expect(code, log).toBe(78);
    const denials = failures.filter((line) => line.includes('redis_denied'));
    expect(denials, log).toHaveLength(1);
    expect(denials[0]).toMatch(words);
    expect(log).not.toMatch(/redis is back|"pw"|:pw@/);
  });

  test('a running worker reconnects and continues after Redis closes its connections', {
    timeout: 120_000,
  }, async () => {
    const server = await startPrivate();
    const worker = startWorker(`redis://app:pw@127.0.0.1:${server.port}`);
    await worker.started;
    const count = (): Promise<Connections> => countConnections(server);
    await expect.poll(count, { timeout: 30_000 }).toMatchObject({ waiting: QUEUES });
    const before = await count();
    await disconnectAll(server);
    // A worker that is stopped while one of its connections is down exits with 75.
    await expect.poll(count, { timeout: 30_000 }).toEqual(before);
    worker.process.kill('SIGTERM');
    const stopped = await worker.ended;
    expect(stopped.code, stopped.log).toBe(0);
  });
});
