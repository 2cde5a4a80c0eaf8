import { readdirSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { callRedis } from '../../redis/connection.ts';
import { askMasters } from '../../redis/servers.ts';
import { readLua } from '../script.ts';

/** Has every server compile every script of the store, and runs none. @returns how many there are */
export async function loadScripts(redis: Redis): Promise<number> {
  const files = readdirSync(new URL('../lua', import.meta.url)).filter((file) => file.endsWith('.lua'));
  const texts = files.map(readLua);
  await askMasters(redis, async (master) => {
    for (const text of texts) await callRedis(() => master.script('LOAD', text));
    return true;
  });
  return texts.length;
}
