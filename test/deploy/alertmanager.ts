import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { z } from 'zod';
import { launchServer } from '../../src/host/local-redis/server-process.ts';
import { findFreePort } from '../chaos/ports.ts';
import { findPrometheusProgram } from './prometheus.ts';

const run = promisify(execFile);

const PAUSE_MS = 50;
const START_MS = 20_000;
/** The program of Debian reads its templates only below /usr/share. */
const TEMPLATES = 'prometheus/alertmanager/default.tmpl';

/** The unpacked binary does not find its templates, so it runs in a mount namespace with the package's /usr/share. */
export async function findAlertmanager(): Promise<readonly string[] | undefined> {
  const program = await findPrometheusProgram('prometheus-alertmanager');
  if (program === undefined) return undefined;
  if (existsSync(join('/usr/share', TEMPLATES))) return [program];
  const share = join(dirname(program), '../share');
  if (!existsSync(join(share, TEMPLATES))) return undefined;
  const command = ['unshare', '--map-root-user', '--mount', 'sh', '-c', MOUNT, 'sh', share, program];
  return await run('unshare', [...command.slice(1), '--version']).then(
    () => command,
    () => undefined,
  );
}

const MOUNT = 'mount --bind "$1" /usr/share && shift && exec "$@"';

const alertsSchema = z.array(
  z.object({ labels: z.record(z.string(), z.string()), status: z.object({ state: z.string() }) }),
);
type Labels = Readonly<Record<string, string>>;

export interface Alertmanager {
  /** Sends alerts as Prometheus does once they fire. */
  send(alerts: readonly { readonly labels: Labels; readonly annotations: Labels }[]): Promise<void>;
  /** Labels of the alerts that are inhibited now. */
  listSuppressed(): Promise<Labels[]>;
  stop(): Promise<void>;
}

export interface AlertmanagerOptions {
  readonly command: readonly string[];
  /** Text of the configuration. Its /run/secrets is replaced by a temporary folder. */
  readonly config: string;
  /** Contents of the files under /run/secrets, by name. */
  readonly secrets: Labels;
}

/** Starts an Alertmanager that ends with this process, and leaves no data. */
export async function startAlertmanager({ command, config, secrets }: AlertmanagerOptions): Promise<Alertmanager> {
  const folder = await mkdtemp(join(tmpdir(), 'turnfold-alertmanager-'));
  for (const [name, content] of Object.entries(secrets)) await writeFile(join(folder, name), content);
  const file = join(folder, 'alertmanager.yml');
  await writeFile(file, config.replaceAll('/run/secrets', folder));
  const address = `127.0.0.1:${await findFreePort()}`;
  const [binary = '', ...first] = command;
  const own = [`--config.file=${file}`, `--storage.path=${join(folder, 'data')}`, `--web.listen-address=${address}`];
  const args = [...first, ...own, '--cluster.listen-address=', '--log.level=warn'];
  const server = launchServer({ binary, args, env: { ...process.env, GOMAXPROCS: '1' }, folder });
  const url = `http://${address}`;
  const deadline = Date.now() + START_MS;
  while (!(await isReady(url))) {
    if (Date.now() > deadline || server.ended.aborted) {
      await server.stop();
      throw new Error(`Alertmanager does not answer: ${server.lastOutput()}`);
    }
    await setTimeout(PAUSE_MS);
  }
  return {
    async send(alerts) {
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(`${url}/api/v2/alerts`, { method: 'POST', headers, body: JSON.stringify(alerts) });
      if (!response.ok) throw new Error(await response.text());
    },
    async listSuppressed() {
      const alerts = alertsSchema.parse(await (await fetch(`${url}/api/v2/alerts`)).json());
      return alerts.filter(({ status }) => status.state === 'suppressed').map(({ labels }) => labels);
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
