// Separate process of the tests: a start that ends in several ways, to see whether the process ends with it.
import { isTurnfoldError } from '../../src/domain/errors.ts';
import { startWorkers } from '../../src/runtime/start-workers.ts';
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
      if (way === 'aborted' && type === 'worker_failed') ending.abort(new Error('told to stop'));
    },
  });
  process.stdout.write(`started, ${await workers.close()}`);
} catch (error) {
  process.stdout.write(isTurnfoldError(error) ? error.code : String(error));
}
