import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import { SourceUnavailableError } from './errors.ts';
import type { LocalRedis, SourceRequest } from './local-redis.ts';
import { startLocalServer } from './local-server.ts';

const SERVER_NAMES = ['redis-server', 'valkey-server'];

/** A server that is installed on this machine. */
export async function startFromPath(request: SourceRequest): Promise<LocalRedis> {
  const path = await findOnPath(SERVER_NAMES, request.env['PATH'] ?? '');
  if (path === undefined) throw new SourceUnavailableError(`no ${SERVER_NAMES.join(' or ')} on PATH`);
  return startLocalServer({ path, source: 'path', origin: 'from PATH' }, request);
}

/** The first of `names` that `searchPath` holds. Relative and empty entries mean the current folder: not searched. */
export async function findOnPath(names: readonly string[], searchPath: string): Promise<string | undefined> {
  const folders = searchPath.split(delimiter).filter(isAbsolute);
  for (const candidate of names.flatMap((name) => folders.map((folder) => join(folder, name)))) {
    if (await isExecutable(candidate)) return candidate;
  }
  return undefined;
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}
