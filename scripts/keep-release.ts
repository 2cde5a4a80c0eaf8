/**
 * Packs the built `dist` of a checkout as the kept release, with a dump of a database that its workers wrote:
 * `node scripts/keep-release.ts <folder of the checkout> <commit>`. See docs/contributing/schema.md.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';
import { Redis } from 'ioredis';
import { provideRedis } from '../src/host/local-redis/provide-redis.ts';
import { loadBuild } from '../test/schema/build.ts';
import { dumpDatabase } from '../test/schema/dump.ts';
import { fillDatabase, queueTurns, SHARDS } from '../test/schema/fill.ts';
import { RELEASE, type Release, unpackRelease } from '../test/schema/release.ts';
import { startBuildWorkers } from '../test/schema/workers.ts';

const ENTRIES = ['index.js', 'api/client/index.js', 'host/suspect-process.js', 'host/lease-thread.js'];

/** Reads the modules that the entries import, and the Lua scripts. */
function readModules(dist: string): Record<string, string> {
  const files: Record<string, string> = {};
  const waiting = [...ENTRIES];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (files[path] !== undefined) continue;
    const text = readFileSync(join(dist, path), 'utf8');
    files[path] = text;
    const imported = text.matchAll(/(?:from|import)\s*\(?\s*['"](\.[^'"]+)['"]/g);
    waiting.push(...[...imported].map(([, to = '']) => posix.join(dirname(path), to)));
  }
  const lua = readdirSync(join(dist, 'store/lua'), { recursive: true, encoding: 'utf8' });
  for (const name of lua.filter((file) => file.endsWith('.lua')))
    files[`store/lua/${name}`] = readFileSync(join(dist, 'store/lua', name), 'utf8');
  return files;
}

const [checkout = '.', commit = ''] = process.argv.slice(2);
const files = readModules(join(checkout, 'dist'));
const { modules, remove } = unpackRelease({ files });
const server = await provideRedis({ sources: ['path', 'package'] });
const workers = await startBuildWorkers(server.url, modules, 'hold');
const build = await loadBuild(modules);
const client = await build.openClient({ redisUrl: server.url, shards: SHARDS });
await fillDatabase(client).catch(async (error: unknown) => {
  await workers.stop('SIGKILL');
  throw error;
});
await workers.stop('SIGKILL');
await queueTurns(client);
const redis = new Redis(server.url);
const dump = await dumpDatabase(redis);
const release: Release = { commit, schema: dump.schema, files, dump };
const packed = brotliCompressSync(JSON.stringify(release), {
  params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 24 },
});
writeFileSync(RELEASE, packed);
process.stdout.write(`${dump.keys.length} keys, ${Object.keys(files).length} files, ${packed.length} bytes\n`);
redis.disconnect();
await client.close();
await server.stop();
remove();
