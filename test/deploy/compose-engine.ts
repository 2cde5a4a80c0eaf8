import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { z } from 'zod';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));

/** Limit of one docker call. A build of the image takes the longest: two installations and a compilation. */
const CALL_MS = 420_000;

/** Services to start by name, because compose wants the image even of a service that is scaled to 0. */
const WITHOUT_GRAFANA = [
  'redis',
  'turn-worker',
  'compaction-worker',
  'summarization-worker',
  'prometheus',
  'alertmanager',
];

/** The services of docker-compose.yml, under a project name of this run and on free ports. */
export interface Compose {
  /** False if this machine lacks the image of Grafana, which is then not started. */
  readonly hasGrafana: boolean;
  build(): Promise<void>;
  up(...options: readonly string[]): Promise<void>;
  /** Ids of the containers of a service. */
  list(service: string): Promise<string[]>;
  /** The published address of a port, as host:port. */
  findAddress(service: string, port: number): Promise<string>;
  inspect(container: string): Promise<ContainerState>;
  docker(...args: readonly string[]): Promise<string>;
  /** Stops all containers and removes their volumes. */
  down(): Promise<void>;
}

const stateSchema = z
  .array(
    z.object({
      State: z.object({
        Status: z.string(),
        ExitCode: z.number(),
        Health: z.object({ Status: z.string() }).optional(),
      }),
      RestartCount: z.number(),
    }),
  )
  .length(1);
export type ContainerState = z.infer<typeof stateSchema>[number];

/**
 * Returns a text if compose cannot run here: no engine, no compose, or missing images. A test neither starts an engine nor
 * waits for a registry.
 * @param images images that must be on this machine
 */
export async function openCompose(images: readonly string[]): Promise<Compose | string> {
  const docker = async (...args: readonly string[]): Promise<string> =>
    (await run('docker', [...args], { cwd: root, timeout: CALL_MS, maxBuffer: 64 * 1024 * 1024 })).stdout.trim();
  const can = async (...args: readonly string[]): Promise<boolean> =>
    await docker(...args).then(
      () => true,
      () => false,
    );
  if (!(await can('info', '--format', '{{.ServerVersion}}'))) return 'no Docker engine answers';
  const missing: string[] = [];
  for (const image of images) if (!(await can('image', 'inspect', image))) missing.push(image);
  const needed = missing.filter((image) => !image.startsWith('grafana/'));
  if (needed.length > 0) {
    return `not here: ${needed.join(', ')} (docker compose pull, or deploy/stand-ins/build.sh)`;
  }
  const program = await findProgram(can);
  if (program === undefined) return 'neither `docker compose` nor `docker-compose` is here';

  const hasGrafana = missing.length === 0;
  const project = `turnfold-test-${process.pid}`;
  const env = { ...process.env, REDIS_PORT: '0', PROMETHEUS_PORT: '0', GRAFANA_PORT: '0', ALERTMANAGER_PORT: '0' };
  const compose = async (...args: readonly string[]): Promise<string> => {
    const [command, ...first] = program;
    const options = { cwd: root, env, timeout: CALL_MS, maxBuffer: 64 * 1024 * 1024 };
    return (await run(command, [...first, '--project-name', project, ...args], options)).stdout.trim();
  };
  return {
    hasGrafana,
    docker,
    build: async () => void (await compose('build')),
    async up(...options) {
      await compose('up', '--detach', ...options, ...(hasGrafana ? [] : WITHOUT_GRAFANA));
    },
    list: async (service) => (await compose('ps', '--quiet', service)).split('\n').filter((id) => id !== ''),
    findAddress: async (service, port) => await compose('port', service, String(port)),
    async inspect(container) {
      const [state] = stateSchema.parse(JSON.parse(await docker('inspect', container)));
      if (state === undefined) throw new Error(`${container}: no such container`);
      return state;
    },
    async down() {
      await compose('down', '--volumes', '--timeout', '5');
    },
  };
}

async function findProgram(
  can: (...args: readonly string[]) => Promise<boolean>,
): Promise<readonly [string, ...string[]] | undefined> {
  if (await can('compose', 'version')) return ['docker', 'compose'];
  const first = await run('docker-compose', ['version']).then(
    () => true,
    () => false,
  );
  return first ? ['docker-compose'] : undefined;
}
