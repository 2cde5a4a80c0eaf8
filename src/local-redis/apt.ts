import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describeCause, SourceUnavailableError } from './errors.ts';
import type { SourceRequest } from './local-redis.ts';

const run = promisify(execFile);

/** Parts of the system, so at one place on every Debian and Ubuntu; looked up there even when PATH hides them. */
const SYSTEM_PATH = '/usr/sbin:/usr/bin:/sbin:/bin';
const TOOL_TIMEOUT_MS = 120_000;
const NETWORK_OPTIONS = ['Acquire::Retries=1', 'Acquire::http::Timeout=15', 'Acquire::https::Timeout=15'];

export type AptTool = 'apt-get' | 'dpkg-deb' | 'dpkg-query' | 'ldd';

export function hasApt(): boolean {
  return ['apt-get', 'dpkg-deb', 'dpkg-query', 'ldd'].every((tool) => existsSync(`/usr/bin/${tool}`));
}

/** The distribution's packages, without root: nothing outside of `folder` is written. */
export interface Apt {
  /** Downloads the packages and returns their files. apt checks them against the distribution's signatures. */
  download(names: readonly string[]): Promise<string[]>;
  unpack(file: string, into: string): Promise<void>;
  /** The names that `file` depends on and that are not installed on this system. */
  listMissingDependencies(file: string): Promise<string[]>;
}

export function openApt(folder: string, request: Pick<SourceRequest, 'env' | 'signal' | 'log'>): Apt {
  let listOptions: string[] = [];

  async function runTool(tool: AptTool, args: readonly string[], cwd = folder): Promise<string> {
    const env = { ...request.env, PATH: SYSTEM_PATH, LC_ALL: 'C' };
    const options = { env, cwd, signal: request.signal, timeout: TOOL_TIMEOUT_MS, maxBuffer: 16 * 1024 * 1024 };
    const { stdout } = await run(`/usr/bin/${tool}`, [...args], options);
    return stdout;
  }

  async function tryDownload(names: readonly string[]): Promise<string[]> {
    const into = await mkdtemp(join(folder, 'debs-'));
    await runTool('apt-get', [...asOptions([...NETWORK_OPTIONS, ...listOptions]), 'download', ...names], into);
    return (await readdir(into)).map((name) => join(into, name));
  }

  /** The system's package lists are root's; ours lie in `folder` and are thrown away with it. */
  async function fetchOwnLists(): Promise<void> {
    const lists = join(folder, 'lists');
    const cache = join(folder, 'cache');
    await mkdir(join(lists, 'partial'), { recursive: true });
    await mkdir(join(cache, 'archives', 'partial'), { recursive: true });
    listOptions = [`Dir::State::Lists=${lists}`, `Dir::Cache=${cache}`];
    request.log('fetching package lists, because those of this system are absent or outdated');
    await runTool('apt-get', [...asOptions([...NETWORK_OPTIONS, ...listOptions]), 'update']);
  }

  return {
    async download(names) {
      try {
        if (listOptions.length > 0) return await tryDownload(names);
        return await tryDownload(names).catch(async () => {
          request.signal.throwIfAborted();
          await fetchOwnLists();
          return tryDownload(names);
        });
      } catch (error) {
        request.signal.throwIfAborted();
        throw new SourceUnavailableError(`apt-get cannot download ${names.join(', ')}: ${describeToolError(error)}`);
      }
    },
    async unpack(file, into) {
      await runTool('dpkg-deb', ['-x', file, into]);
    },
    async listMissingDependencies(file) {
      const fields = await runTool('dpkg-deb', ['-f', file, 'Pre-Depends', 'Depends']);
      const names = parseDependencies(fields);
      const missing = await Promise.all(names.map(async (name) => ((await isInstalled(name)) ? [] : [name])));
      return missing.flat();
    },
  };

  async function isInstalled(name: string): Promise<boolean> {
    const query = runTool('dpkg-query', ['-W', '-f', '${db:Status-Status}\\n', name]);
    return (await query.catch(() => '')).split('\n').includes('installed'); // exits with 1 for an unknown name
  }
}

/** `Depends: libc6 (>= 2.34), a:any | b` → libc6, a: of alternatives the first, which is the distribution's choice. */
export function parseDependencies(fields: string): string[] {
  const entries = fields.replaceAll(/^[\w-]+:/gm, ',').split(',');
  return entries.map((entry) => /^\s*([a-z0-9][a-z0-9+.-]*)/.exec(entry)?.[1]).filter((name) => name !== undefined);
}

function asOptions(settings: readonly string[]): string[] {
  return settings.flatMap((setting) => ['-o', setting]);
}

function describeToolError(error: unknown): string {
  const stderr = error instanceof Error && 'stderr' in error ? String(error.stderr) : '';
  return (
    stderr
      .split('\n')
      .findLast((line) => line.startsWith('E: '))
      ?.slice(3) ?? describeCause(error)
  );
}
