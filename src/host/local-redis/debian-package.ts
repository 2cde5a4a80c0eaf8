import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import { arch } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describeCause, type LocalRedis, type SourceRequest, SourceUnavailableError } from './local-redis.ts';
import { startLocalServer } from './local-server.ts';

const run = promisify(execFile);

/**
 * The package `redis-server` holds only the service definition. `redis-check-rdb` acts as the server if it runs as
 * `redis-server`.
 */
const PACKAGE = 'redis-tools';
const PROGRAM = 'redis-check-rdb';
const SERVER = 'usr/bin/redis-server';
/** The longest chain of dependencies is redis-tools → libsystemd0 → libcap2. */
const MAX_DEPENDENCY_DEPTH = 4;

/** Unpacks the Redis of the Linux distribution into the cache folder, without root. */
export async function startFromPackage(request: SourceRequest): Promise<LocalRedis> {
  if (!hasApt()) throw new SourceUnavailableError('not a Debian or Ubuntu system');
  const folder = join(request.cacheDir, 'redis', await nameSystem());
  if (!(await canRun(folder))) await fillCache(folder, request);
  const server = { path: join(folder, SERVER), source: 'package' as const, origin: `from the package in ${folder}` };
  return startLocalServer({ ...server, libraryPath: await findLibraryPath(folder) }, request);
}

/** Libraries of another release would not work, so each release has its own cache folder. */
async function nameSystem(): Promise<string> {
  const release = await readFile('/etc/os-release', 'utf8').catch(() => '');
  const field = (name: string): string | undefined => new RegExp(`^${name}="?([\\w.-]+)`, 'm').exec(release)?.[1];
  return [field('ID') ?? 'debian', field('VERSION_ID') ?? field('VERSION_CODENAME') ?? 'rolling', arch()].join('-');
}

/** Renames a temporary folder, so that the cache is complete or absent. */
async function fillCache(folder: string, request: SourceRequest): Promise<void> {
  const parent = join(folder, '..');
  const staging = await mkdir(parent, { recursive: true })
    .then(() => mkdtemp(join(parent, '.staging-')))
    .catch((error: unknown) => {
      throw new SourceUnavailableError(
        `the cache folder cannot be written. Set XDG_CACHE_HOME to another folder: ${describeCause(error)}`,
      );
    });
  try {
    request.log(`downloading ${PACKAGE} of this distribution into ${folder}`);
    const tree = join(staging, 'tree');
    await unpackServer(tree, new DebianPackages(staging, request));
    await publish(tree, folder);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

async function unpackServer(tree: string, apt: DebianPackages): Promise<void> {
  let wanted = [PACKAGE];
  const seen = new Set<string>();
  for (let depth = 0; depth < MAX_DEPENDENCY_DEPTH && wanted.length > 0; depth++) {
    const files = await apt.download(wanted);
    for (const file of files) await apt.unpack(file, tree);
    if (depth === 0) await symlink(PROGRAM, join(tree, SERVER));
    if ((await listMissingLibraries(tree)).length === 0) return;
    for (const name of wanted) seen.add(name);
    const dependencies = await Promise.all(files.map((file) => apt.listMissingDependencies(file)));
    wanted = [...new Set(dependencies.flat())].filter((name) => !seen.has(name));
  }
  throw new SourceUnavailableError(
    `the package needs shared libraries that were not found: ${(await listMissingLibraries(tree)).join(', ')}`,
  );
}

/** If another process was faster, its folder stays and is used. */
async function publish(tree: string, folder: string): Promise<void> {
  try {
    await rename(tree, folder);
  } catch {
    if (await canRun(folder)) return;
    // The folder is of an earlier release of the system. It is moved away, and removed with the temporary folder.
    await rename(folder, `${tree}-before`);
    await rename(tree, folder);
  }
}

async function canRun(folder: string): Promise<boolean> {
  try {
    await run(join(folder, SERVER), ['--version'], { env: { LD_LIBRARY_PATH: await findLibraryPath(folder) } });
    return true;
  } catch {
    return false;
  }
}

async function listMissingLibraries(tree: string): Promise<string[]> {
  const env = { PATH: '/usr/bin:/bin', LC_ALL: 'C', LD_LIBRARY_PATH: await findLibraryPath(tree) };
  const { stdout } = await run('/usr/bin/ldd', [join(tree, SERVER)], { env });
  return [...stdout.matchAll(/^[ \t]*(\S+) => not found/gm)].map(([, name]) => name ?? '');
}

/** Value of LD_LIBRARY_PATH: `usr/lib` and `lib`, each with its architecture folder such as x86_64-linux-gnu. */
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

/** Folders of the system tools, which the PATH of the caller may lack. */
const SYSTEM_PATH = '/usr/sbin:/usr/bin:/sbin:/bin';
const TOOL_TIMEOUT_MS = 120_000;
const NETWORK_OPTIONS = ['Acquire::Retries=1', 'Acquire::http::Timeout=15', 'Acquire::https::Timeout=15'];
const TOOLS = ['apt-get', 'dpkg-deb', 'dpkg-query', 'ldd'] as const;

export function hasApt(): boolean {
  return TOOLS.every((tool) => existsSync(`/usr/bin/${tool}`));
}

/** Packages of the distribution, whose signatures apt verifies. Writes only into `folder`. */
export class DebianPackages {
  readonly #folder: string;
  readonly #request: Pick<SourceRequest, 'env' | 'signal' | 'log'>;
  #listOptions: string[] = [];

  constructor(folder: string, request: Pick<SourceRequest, 'env' | 'signal' | 'log'>) {
    this.#folder = folder;
    this.#request = request;
  }

  async download(names: readonly string[]): Promise<string[]> {
    const { signal } = this.#request;
    try {
      if (this.#listOptions.length > 0) return await this.#tryDownload(names);
      return await this.#tryDownload(names).catch(async () => {
        signal.throwIfAborted();
        await this.#fetchOwnLists();
        return await this.#tryDownload(names);
      });
    } catch (error) {
      signal.throwIfAborted();
      throw new SourceUnavailableError(`apt-get cannot download ${names.join(', ')}: ${describeToolError(error)}`);
    }
  }

  async unpack(file: string, into: string): Promise<void> {
    await this.#run('dpkg-deb', ['-x', file, into]);
  }

  async listMissingDependencies(file: string): Promise<string[]> {
    const names = parseDependencies(await this.#run('dpkg-deb', ['-f', file, 'Pre-Depends', 'Depends']));
    const missing = await Promise.all(names.map(async (name) => ((await this.#isInstalled(name)) ? [] : [name])));
    return missing.flat();
  }

  async #tryDownload(names: readonly string[]): Promise<string[]> {
    const into = await mkdtemp(join(this.#folder, 'debs-'));
    await this.#runApt(['download', ...names], into);
    return (await readdir(into)).map((name) => join(into, name));
  }

  /** Downloads package lists into `folder`, because the lists of the system belong to root. */
  async #fetchOwnLists(): Promise<void> {
    const lists = join(this.#folder, 'lists');
    const cache = join(this.#folder, 'cache');
    await mkdir(join(lists, 'partial'), { recursive: true });
    await mkdir(join(cache, 'archives', 'partial'), { recursive: true });
    this.#listOptions = [`Dir::State::Lists=${lists}`, `Dir::Cache=${cache}`];
    this.#request.log('fetching package lists, because the system has none or old ones');
    await this.#runApt(['update']);
  }

  async #isInstalled(name: string): Promise<boolean> {
    const query = this.#run('dpkg-query', ['-W', '-f', '${db:Status-Status}\\n', name]);
    return (await query.catch(() => '')).split('\n').includes('installed'); // dpkg exits with 1 for an unknown name
  }

  async #runApt(args: readonly string[], cwd?: string): Promise<void> {
    const options = [...NETWORK_OPTIONS, ...this.#listOptions].flatMap((setting) => ['-o', setting]);
    await this.#run('apt-get', [...options, ...args], cwd);
  }

  async #run(tool: (typeof TOOLS)[number], args: readonly string[], cwd = this.#folder): Promise<string> {
    const { env, signal } = this.#request;
    const limits = { signal, timeout: TOOL_TIMEOUT_MS, maxBuffer: 16 * 1024 * 1024 };
    const toolEnv = { ...env, PATH: SYSTEM_PATH, LC_ALL: 'C' };
    return (await run(`/usr/bin/${tool}`, [...args], { env: toolEnv, cwd, ...limits })).stdout;
  }
}

/** `Depends: libc6 (>= 2.34), a:any | b` gives libc6 and a: the first alternative is the distribution's choice. */
export function parseDependencies(fields: string): string[] {
  const entries = fields.replaceAll(/^[\w-]+:/gm, ',').split(',');
  return entries.map((entry) => /^\s*([a-z0-9][a-z0-9+.-]*)/.exec(entry)?.[1]).filter((name) => name !== undefined);
}

function describeToolError(error: unknown): string {
  const stderr = error instanceof Error && 'stderr' in error ? String(error.stderr) : '';
  const line = stderr.split('\n').findLast((one) => one.startsWith('E: '));
  return line?.slice('E: '.length) ?? describeCause(error);
}
