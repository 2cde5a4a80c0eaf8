import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { z } from 'zod';
import { DebianPackages, hasApt } from '../../src/host/local-redis/debian-package.ts';
import { findOnPath } from '../../src/host/local-redis/local-server.ts';
import { launchServer } from '../../src/host/local-redis/server-process.ts';
import { findFreePort } from '../chaos/ports.ts';

const run = promisify(execFile);

const PAUSE_MS = 100;
const START_MS = 20_000;
const DOWNLOAD_MS = 120_000;

/** Debian's package of each program. */
const PACKAGES = {
  prometheus: 'prometheus',
  promtool: 'prometheus',
  'prometheus-alertmanager': 'prometheus-alertmanager',
  amtool: 'prometheus-alertmanager',
} as const;

/**
 * Finds a program of Debian's packages on PATH. Otherwise the package is unpacked into the cache folder, and stays there.
 * @returns undefined if this machine has neither the program nor apt
 */
export async function findPrometheusProgram(name: keyof typeof PACKAGES): Promise<string | undefined> {
  const installed = await findOnPath([name], process.env['PATH'] ?? '');
  if (installed !== undefined) return installed;
  if (!hasApt()) return undefined;
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  const folder = join(cache, 'turnfold', `${PACKAGES[name]}-${process.arch}`);
  const program = join(folder, 'usr/bin', name);
  if (!(await canRun(program))) await fillCache(PACKAGES[name], folder, program);
  return (await canRun(program)) ? program : undefined;
}

async function canRun(program: string): Promise<boolean> {
  return await run(program, ['--version']).then(
    () => true,
    () => false,
  );
}

/** Fills the cache by one rename, so that it is whole or absent. Programs in Go need no further packages. */
async function fillCache(name: string, folder: string, program: string): Promise<void> {
  const parent = dirname(folder);
  await mkdir(parent, { recursive: true });
  const staging = await mkdtemp(join(parent, '.staging-'));
  try {
    const signal = AbortSignal.timeout(DOWNLOAD_MS);
    const apt = new DebianPackages(staging, { env: process.env, signal, log: () => undefined });
    const [file = ''] = await apt.download([name]);
    const tree = join(staging, 'tree');
    await apt.unpack(file, tree);
    // Another run may have filled the cache meanwhile, and may already use it.
    if (await canRun(program)) return;
    await rename(folder, `${tree}-before`).catch(() => undefined); // The archive is for another system or missing.
    await rename(tree, folder);
  } catch {
    // Without network, or after a faster parallel run. The caller checks for the file.
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

const answerSchema = z.object({ status: z.literal('success'), data: z.unknown() });
const matrixSchema = z.object({
  resultType: z.literal('matrix'),
  result: z.array(
    z.object({ metric: z.record(z.string(), z.string()), values: z.array(z.tuple([z.number(), z.string()])) }),
  ),
});

const vectorSchema = z.object({
  resultType: z.literal('vector'),
  result: z.array(z.object({ metric: z.record(z.string(), z.string()), value: z.tuple([z.number(), z.string()]) })),
});

export type Series = z.infer<typeof matrixSchema>['result'][number];
export type Sample = z.infer<typeof vectorSchema>['result'][number];

export interface Prometheus {
  readonly url: string;
  /** Replaces the scraped targets, as a service discovery does. It takes some seconds. */
  setTargets(targets: readonly string[]): Promise<void>;
  /** Values of a query now. */
  query(query: string): Promise<Sample[]>;
  /** Values for each second from `from`, in ms since epoch, to now. */
  queryRange(query: string, from: number): Promise<Series[]>;
  stop(): Promise<void>;
}

export interface PrometheusOptions {
  readonly program: string;
  /** Metrics pages as host:port, scraped under the job `turnfold`. */
  readonly targets: readonly string[];
  /** Absolute paths. */
  readonly ruleFiles?: readonly string[];
}

/** Starts a Prometheus that scrapes each second, ends with this process, and leaves no data. */
export async function startPrometheus({ program, targets, ruleFiles = [] }: PrometheusOptions): Promise<Prometheus> {
  const folder = await mkdtemp(join(tmpdir(), 'turnfold-prometheus-'));
  const port = await findFreePort();
  const named = join(folder, 'targets.json');
  const setTargets = async (now: readonly string[]): Promise<void> => {
    await writeFile(`${named}.new`, JSON.stringify([{ targets: now }]));
    await rename(`${named}.new`, named);
  };
  await setTargets(targets);
  const config = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: ruleFiles,
    scrape_configs: [{ job_name: 'turnfold', file_sd_configs: [{ files: [named], refresh_interval: '1s' }] }],
  };
  await writeFile(join(folder, 'prometheus.yml'), JSON.stringify(config)); // JSON is YAML
  const server = launchServer({
    binary: program,
    args: [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=warn',
    ],
    env: { ...process.env, GOMAXPROCS: '1' },
    folder,
  });
  const url = `http://127.0.0.1:${port}`;

  async function ask(path: string, parameters: Record<string, string>): Promise<unknown> {
    const response = await fetch(`${url}${path}?${new URLSearchParams(parameters).toString()}`);
    const text = await response.text();
    if (!response.ok) throw new Error(`${path}: ${text}`);
    return answerSchema.parse(JSON.parse(text)).data;
  }

  const deadline = Date.now() + START_MS;
  while (!(await isReady(url))) {
    if (Date.now() > deadline || server.ended.aborted) {
      await server.stop();
      throw new Error(`Prometheus does not answer: ${server.lastOutput()}`);
    }
    await setTimeout(PAUSE_MS);
  }
  return {
    url,
    setTargets,
    query: async (query) => vectorSchema.parse(await ask('/api/v1/query', { query })).result,
    async queryRange(query, from) {
      const [start, end] = [from / 1_000, Date.now() / 1_000].map(String) as [string, string];
      return matrixSchema.parse(await ask('/api/v1/query_range', { query, start, end, step: '1' })).result;
    },
    stop: () => server.stop(),
  };
}

async function isReady(url: string): Promise<boolean> {
  return await fetch(`${url}/-/ready`).then(
    ({ ok }) => ok,
    () => false,
  );
}
