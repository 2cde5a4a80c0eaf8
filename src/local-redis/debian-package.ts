import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import { arch } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Apt, hasApt, openApt } from './apt.ts';
import { describeCause, SourceUnavailableError } from './errors.ts';
import type { LocalRedis, SourceRequest } from './local-redis.ts';
import { startLocalServer } from './local-server.ts';

const run = promisify(execFile);

/**
 * Debian's `redis-server` holds only the service; the program is this one in `redis-tools`, which acts as the server
 * when it is called by that name.
 */
const PACKAGE = 'redis-tools';
const PROGRAM = 'redis-check-rdb';
/** redis-tools → libsystemd0 → libcap2: no library of Redis lies deeper. */
const MAX_DEPENDENCY_DEPTH = 4;

/** The distribution's own Redis, downloaded and unpacked into the cache folder; neither root nor an installation. */
export async function startFromPackage(request: SourceRequest): Promise<LocalRedis> {
  if (!hasApt()) throw new SourceUnavailableError('not a Debian or Ubuntu system');
  const folder = join(request.cacheDir, 'redis', await nameSystem());
  if (!(await canRun(folder))) await fillCache(folder, request);
  const server = { path: serverPath(folder), source: 'package' as const, origin: `from the package in ${folder}` };
  return startLocalServer({ ...server, libraryPath: await findLibraryPath(folder) }, request);
}

/** One folder for each system, because libraries of another release would not fit. */
async function nameSystem(): Promise<string> {
  const release = await readFile('/etc/os-release', 'utf8').catch(() => '');
  const field = (name: string): string | undefined => new RegExp(`^${name}="?([\\w.-]+)`, 'm').exec(release)?.[1];
  return [field('ID') ?? 'debian', field('VERSION_ID') ?? field('VERSION_CODENAME') ?? 'rolling', arch()].join('-');
}

/** Whole or absent: everything is made in a folder of this run's own and appears in the cache by one rename. */
async function fillCache(folder: string, request: SourceRequest): Promise<void> {
  const parent = join(folder, '..');
  const staging = await mkdir(parent, { recursive: true })
    .then(() => mkdtemp(join(parent, '.staging-')))
    .catch((error: unknown) => {
      throw new SourceUnavailableError(
        `the cache folder cannot be written, set XDG_CACHE_HOME: ${describeCause(error)}`,
      );
    });
  try {
    request.log(`downloading ${PACKAGE} of this distribution into ${folder}`);
    const tree = join(staging, 'tree');
    await unpackServer(tree, openApt(staging, request));
    await publish(tree, folder);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

async function unpackServer(tree: string, apt: Apt): Promise<void> {
  let wanted = [PACKAGE];
  const seen = new Set<string>();
  for (let depth = 0; depth < MAX_DEPENDENCY_DEPTH && wanted.length > 0; depth++) {
    const files = await apt.download(wanted);
    for (const file of files) await apt.unpack(file, tree);
    if (depth === 0) await symlink(PROGRAM, serverPath(tree));
    if ((await listMissingLibraries(tree)).length === 0) return;
    for (const name of wanted) seen.add(name);
    const dependencies = await Promise.all(files.map((file) => apt.listMissingDependencies(file)));
    wanted = [...new Set(dependencies.flat())].filter((name) => !seen.has(name));
  }
  throw new SourceUnavailableError(`libraries not found: ${(await listMissingLibraries(tree)).join(', ')}`);
}

/** Of two runs that fill the cache at once the first one wins, and the second uses the winner's. */
async function publish(tree: string, folder: string): Promise<void> {
  try {
    await rename(tree, folder);
  } catch {
    // A folder is there already. Looked at only now: removed before, it could be the one that another run has just made.
    if (await canRun(folder)) return;
    await rename(folder, `${tree}-before`); // from before a system upgrade; it goes with the staging folder
    await rename(tree, folder);
  }
}

async function canRun(folder: string): Promise<boolean> {
  try {
    await run(serverPath(folder), ['--version'], { env: { LD_LIBRARY_PATH: await findLibraryPath(folder) } });
    return true;
  } catch {
    return false;
  }
}

async function listMissingLibraries(tree: string): Promise<string[]> {
  const env = { PATH: '/usr/bin:/bin', LC_ALL: 'C', LD_LIBRARY_PATH: await findLibraryPath(tree) };
  const { stdout } = await run('/usr/bin/ldd', [serverPath(tree)], { env });
  return [...stdout.matchAll(/^[ \t]*(\S+) => not found/gm)].map(([, name]) => name ?? '');
}

/** lib and usr/lib, and in each the folder of the architecture, such as x86_64-linux-gnu. */
async function findLibraryPath(folder: string): Promise<string> {
  const roots = [join(folder, 'usr/lib'), join(folder, 'lib')];
  const found = await Promise.all(
    roots.map(async (root) => {
      const names = await readdir(root).catch(() => []);
      return [root, ...names.filter((name) => name.includes('-linux-')).map((name) => join(root, name))];
    }),
  );
  return found.flat().join(':');
}

function serverPath(folder: string): string {
  return join(folder, 'usr/bin/redis-server');
}
