import { stat, statfs } from 'node:fs/promises';
import { type Finding, findOk, findWarning } from '../../health/finding.ts';
import type { ServerFacts } from '../../redis/server-facts.ts';
import { tellBytes } from './server.ts';

/** A rewrite writes a second file beside the first, and the first goes on growing. */
const REWRITE_FACTOR = 3;
const LEAST_BYTES = 1_073_741_824;

/** Room for the append-only files that lie on this very machine; nobody tells it of another one. */
export async function examineDisk(servers: readonly ServerFacts[]): Promise<Finding[]> {
  return await Promise.all(
    servers.filter(({ appendOnly }) => appendOnly.isOn).map(({ appendOnly }) => examineFolder(appendOnly)),
  );
}

async function examineFolder({ folder, bytes }: { folder: string | undefined; bytes: number }): Promise<Finding> {
  const name = 'disk';
  const freeBytes = folder === undefined ? undefined : await readFreeBytes(folder);
  if (freeBytes === undefined)
    return findOk(name, `${tellBytes(bytes)} written; what is free cannot be seen from here`);
  const what = `${tellBytes(bytes)} written, ${tellBytes(freeBytes)} free`;
  if (freeBytes >= Math.max(LEAST_BYTES, REWRITE_FACTOR * bytes)) return findOk(name, what);
  const remedy = 'Make room: a rewrite of the file needs its size once more, and Redis refuses writes on a full disk.';
  return findWarning(name, what, remedy);
}

async function readFreeBytes(folder: string): Promise<number | undefined> {
  try {
    await stat(folder); // the path is the server's; it is ours only where it is there
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  } catch {
    return undefined;
  }
}
