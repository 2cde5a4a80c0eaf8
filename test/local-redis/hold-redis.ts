// Run as a process of its own by the tests: holds a Redis, says which, and never stops it.
import { provideRedis } from '../../src/host/local-redis/provide-redis.ts';

const redis = await provideRedis({ sources: ['path'] });
process.stdout.write(`${JSON.stringify(redis)}\n`);
process.stdin.on('data', () => process.exit(0));
