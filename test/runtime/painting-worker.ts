// Run as a process of its own by a test: a worker whose tool emits values and then never ends. Arguments: address of
// Redis, `retry` of the tool.
import { startWorkers } from '../../src/host/start-workers.ts';
import { SHARDS } from './fixture.ts';
import { createPainter } from './painter.ts';

const [redisUrl = '', retry = ''] = process.argv.slice(2);

const painter = createPainter(
  async ({ emit }) => {
    emit('sketch', { lines: 2 });
    emit('palette', ['red']);
    return await new Promise<string>(() => undefined);
  },
  retry === 'never' ? 'never' : 'safe',
);

await startWorkers({ redisUrl, agents: [painter], roles: ['turn'], shards: SHARDS, queueShards: 1 });
