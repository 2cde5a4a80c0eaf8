// Runs as a process of its own: it starts workers, which then close, fail or are aborted, and must end by itself.
import { isTurnfoldError } from '../../src/domain/errors.ts';
import { startWorkers } from '../../src/host/start-workers.ts';
import { agentOf } from './agents.ts';

const [redisUrl = '', way = '', shards = '4'] = process.argv.slice(2);
const ending = new AbortController();
try {
  const workers = await startWorkers({
    redisUrl,
    agents: [agentOf()],
    shards: Number(shards),
    signal: ending.signal,
    metrics: { host: '127.0.0.1', port: 0 },
    onEvent: ({ type }) => {
      if (way === 'aborted' && type === 'worker_failed') ending.abort(new Error('aborted by the test'));
    },
  });
  process.stdout.write(`started, ${await workers.close()}`);
} catch (error) {
  process.stdout.write(isTurnfoldError(error) ? error.code : String(error));
}
