import { onTestFinished } from 'vitest';
import { type Server, type ServerTls, startReplicated, startServer, until } from './servers.ts';

const SENTINELS = 3;
/** Milliseconds of silence after which Sentinels regard a master as dead, while a test is about to kill it. */
const QUICK_MS = 1_000;
/**
 * The same limit at any other time. It is long, because on a busy machine a living server may be silent and cause a second
 * failover.
 */
const PATIENT_MS = 60_000;

export interface Sentinels {
  readonly url: string;
  readonly master: Server;
  readonly replicas: readonly Server[];
  /** Call before the test kills the first master. The Sentinels then replace this master, and no other. */
  readonly expectDeath: () => void;
}

/** Starts a master, two replicas and three Sentinels, until the end of the test. */
export async function startSentinels(tls?: ServerTls): Promise<Sentinels> {
  const [master, ...replicas] = (await startReplicated(2, [], tls)) as [Server, ...Server[]];
  const sentinels: Server[] = [];
  onTestFinished(async () => {
    await Promise.all([...sentinels, master, ...replicas].map((server) => server.stop()));
  });
  const sentinelOf = [
    `sentinel monitor main 127.0.0.1 ${master.port} 2`,
    `sentinel down-after-milliseconds main ${PATIENT_MS}`,
    'sentinel failover-timeout main 5000',
    '',
  ].join('\n');
  for (let at = 0; at < SENTINELS; at += 1) sentinels.push(await startServer({ sentinelOf, tls }));
  await until('the Sentinels know each other and the replicas', async () => {
    const states = await Promise.all(sentinels.map(({ redis }) => redis.call('SENTINEL', 'MASTER', 'main')));
    return states.every((state) => {
      const fields = state as string[];
      const read = (name: string): number => Number(fields[fields.indexOf(name) + 1]);
      return read('num-other-sentinels') === SENTINELS - 1 && read('num-slaves') === 2;
    });
  });
  const allowSilence = (ms: number): Promise<unknown> =>
    Promise.all(sentinels.map(({ redis }) => redis.call('SENTINEL', 'SET', 'main', 'down-after-milliseconds', ms)));
  const isReplaced = async (): Promise<boolean> => {
    const named = await Promise.all(
      sentinels.map(({ redis }) => redis.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'main')),
    );
    return named.every((address) => Number((address as string[])[1]) !== master.port);
  };
  return {
    url: `redis${tls ? 's' : ''}+sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/main`,
    master,
    replicas,
    expectDeath() {
      const watch = async (): Promise<void> => {
        await allowSilence(QUICK_MS);
        await until('all Sentinels name another master', isReplaced);
        await allowSilence(PATIENT_MS);
      };
      watch().catch(() => undefined); // the test may have ended
    },
  };
}
