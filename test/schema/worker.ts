import { createAgents } from './agents.ts';
import { loadBuild } from './build.ts';
import { SHARDS } from './fill.ts';

/** Runs workers of a build until SIGTERM. Arguments: URL of Redis, `hold` or `answer`, modules of the build. */
const [redisUrl = '', holding, ...modules] = process.argv.slice(2);
const build = await loadBuild(modules);
const workers = await build.startWorkers({
  redisUrl,
  shards: SHARDS,
  agents: createAgents(build, holding === 'hold'),
  shutdownMs: 2_000,
  onEvent: (event) => {
    if (JSON.stringify(event).includes('corrupt_record')) process.send?.({ corrupt: JSON.stringify(event) });
  },
});
process.once('SIGTERM', () => void workers.close().then(() => process.exit(0)));
process.send?.('started');
