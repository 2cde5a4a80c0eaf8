// Process of a turn worker whose model streams one piece and then hangs.

import { startWorkers } from '../../src/host/start-workers.ts';
import { scriptedModel } from '../../src/providers/scripted.ts';
import { SHARDS } from './fixture.ts';

async function* streamOnePiece(): AsyncGenerator<string> {
  yield 'It is bl';
  await new Promise(() => undefined);
}

await startWorkers({
  redisUrl: process.argv[2] ?? '',
  agents: [
    {
      name: 'speaker',
      system: '',
      policy: {},
      tools: [],
      model: scriptedModel({ decide: () => ({ content: streamOnePiece() }) }),
    },
  ],
  roles: ['turn'],
  shards: SHARDS,
  queueShards: 1,
  concurrency: { turn: 1, compaction: 1, summarization: 1 },
  shutdownMs: 1_000,
});
