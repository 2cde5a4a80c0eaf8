import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { examineModule } from '../../src/cli/load-agents.ts';
import { listVariables } from '../../src/host/config/check-settings.ts';
import { SETTING_NAMES, settingOf } from '../../src/host/config/settings.ts';
import { readConfig } from '../../src/host/config.ts';
import { DEFAULT_IMAGE } from '../../src/host/local-redis/provide-redis.ts';
import { ROLES } from '../../src/host/start-workers.ts';

const serviceSchema = z.object({
  image: z.string().optional(),
  build: z.string().optional(),
  pull_policy: z.string().optional(),
  depends_on: z.record(z.string(), z.object({ condition: z.string() })).default({}),
  command: z.array(z.string()).default([]),
  // null: the value in the caller's environment, if any
  environment: z.record(z.string(), z.union([z.null(), z.coerce.string()])).default({}),
  healthcheck: z.object({ test: z.array(z.string()) }).optional(),
  stop_grace_period: z
    .string()
    .regex(/^\d+s$/)
    .transform((text) => Number.parseInt(text, 10) * 1_000)
    .optional(),
  ports: z.array(z.string()).default([]),
  volumes: z.array(z.string()).default([]),
  secrets: z.array(z.string()).default([]),
  read_only: z.boolean().optional(),
  init: z.boolean().optional(),
  cap_drop: z.array(z.string()).default([]),
  security_opt: z.array(z.string()).default([]),
  mem_limit: z.string().optional(),
  cpus: z.number().optional(),
  pids_limit: z.number().optional(),
});
const fileSchema = z.object({
  services: z.record(z.string(), serviceSchema),
  secrets: z.record(z.string(), z.object({ file: z.string() })).default({}),
});

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const readCompose = (path: string): z.infer<typeof fileSchema> => fileSchema.parse(parse(read(path), { merge: true }));

const { services } = readCompose('docker-compose.yml');
const { redis } = services;
const workers = Object.entries(services).filter(([, { image }]) => image === 'turnfold:local');
const dockerfile = read('Dockerfile');

/**
 * Settings that compose fixes: the address of its Redis, and values that other parts of these files rely on. Workers do
 * not read `TURNFOLD_URL`.
 */
const FIXED = /^REDIS_|^TURNFOLD_(SHUTDOWN_MS|METRICS_HOST|METRICS_PORT|URL)$/;
const PROVIDERS = ['anthropic', 'openai'];

/** These files name options, settings and files that nothing compiles: here they are held to the code. */
describe('docker-compose.yml', () => {
  test('compose has one worker for each role, with agents that load', async () => {
    expect(workers.flatMap(([, { command }]) => optionOf(command, '--roles').split(',')).toSorted()).toEqual(
      [...ROLES].toSorted(),
    );
    for (const [, { command }] of workers) {
      expect(await examineModule(optionOf(command, '--agents'))).toMatchObject({ agents: [{}], problems: [] });
    }
  });

  test.each(workers)(
    'docker-compose.yml sets only settings that %s reads, and gives that worker time to close',
    (_, worker) => {
      expect(listVariables()).toEqual(expect.arrayContaining(Object.keys(worker.environment)));
      const { redisUrl, shutdownMs } = readConfig(givenBy(worker.environment));
      expect(redisUrl).toBe('redis://redis:6379');
      expect(worker.stop_grace_period).toBeGreaterThan(shutdownMs);
      expect(worker.init).toBe(true);
    },
  );

  test.each(workers)(
    "compose passes %s every setting of the caller's environment except fixed ones and secrets",
    (_, worker) => {
      const passed = Object.entries(worker.environment).flatMap(([name, value]) => (value === null ? [name] : []));
      const kept = SETTING_NAMES.filter((name) => FIXED.test(name) || settingOf(name).hasFile);
      expect([...passed, ...kept].toSorted()).toEqual([...SETTING_NAMES].toSorted());
    },
  );

  test('compose builds the worker image in one service, and the other workers wait for it', () => {
    const builders = Object.entries(services).flatMap(([name, { build }]) => (build === undefined ? [] : [name]));
    expect(builders).toEqual(['turn-worker']);
    expect(workers).toHaveLength(ROLES.length);
    for (const [name, { depends_on, pull_policy }] of workers) {
      expect(depends_on).toHaveProperty('redis', { condition: 'service_healthy' });
      if (builders.includes(name)) continue;
      expect(depends_on).toHaveProperty('turn-worker', { condition: 'service_started' });
      expect(pull_policy).toBe('never');
    }
  });

  test('compose gives Redis twice the memory that it may fill, and both can be set', () => {
    const { command = [], mem_limit = '' } = redis ?? {};
    const filled = optionOf(command, '--maxmemory');
    expect([filled, mem_limit]).toEqual(['${REDIS_MAXMEMORY:-512mb}', '${REDIS_MEM_LIMIT:-1g}']);
    expect(bytesOf(byDefault(mem_limit))).toBe(2 * bytesOf(byDefault(filled)));
    const [, more = '', limit = ''] =
      /`REDIS_MAXMEMORY=(\w+)` and `REDIS_MEM_LIMIT=(\w+)`/.exec(read('docs/runbook.md')) ?? [];
    expect(bytesOf(limit)).toBe(2 * bytesOf(more));
  });

  test('compose uses the Redis image that tests in containers run', () => {
    expect(DEFAULT_IMAGE).toBe(redis?.image);
  });

  test('compose configures Redis to keep acknowledged writes and accept the workers', () => {
    const { command = [] } = redis ?? {};
    expect(optionOf(command, '--appendonly')).toBe('yes');
    expect(optionOf(command, '--maxmemory-policy')).toBe('noeviction');
    expect(optionOf(command, '--protected-mode')).toBe('no');
  });

  test.each(Object.entries(services))(
    'compose limits the privileges and resources of %s, and checks its health',
    (_, service) => {
      expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] });
      expect(byDefault(service.mem_limit ?? '')).toMatch(/^\d+[mg]$/);
      expect(service.cpus).toBeGreaterThan(0);
      expect(service.pids_limit).toBeGreaterThan(0);
      expect(service.stop_grace_period).toBeGreaterThan(0);
      // An image that is built here has its own check.
      if (service.image !== 'turnfold:local') expect(service.healthcheck?.test.length).toBeGreaterThan(1);
      for (const port of service.ports) expect(port).toMatch(/^127\.0\.0\.1:/);
    },
  );

  test.each(['prometheus', 'alertmanager'])(
    'in docker-compose.yml, %s uses links with a published or configured address',
    (name) => {
      const { command = [], ports = [] } = services[name] ?? {};
      const port = ports[0]?.split(':').at(-1);
      expect(command).toContain(`--web.external-url=\${${name.toUpperCase()}_URL:-http://127.0.0.1:${port}}`);
      // A path in that address would else be where its pages are: for the health check, for Prometheus, for Grafana.
      expect(command).toContain('--web.route-prefix=/');
    },
  );

  test('compose mounts only existing folders, read-only', () => {
    const mounted = Object.values(services).flatMap(({ volumes }) =>
      volumes.filter((volume) => volume.startsWith('./')).map((volume) => volume.split(':')),
    );
    expect(mounted.length).toBeGreaterThan(0);
    for (const [path = '', , mode] of mounted) {
      expect(mode).toBe('ro');
      expect(() => readFileSync(new URL(`../../${path}`, import.meta.url))).toThrow(/EISDIR/);
    }
  });
});

describe('images', () => {
  test.each([
    ...Object.values(services).flatMap(({ image = '' }) => (image === 'turnfold:local' ? [] : [image])),
    baseImage(),
  ])('the image %s has an exact version', (image) => {
    expect(image).toMatch(/:v?\d+\.\d+\.\d+(-[\w.-]+)?(@sha256:[0-9a-f]{64})?$/);
  });

  test('the worker image has the Node that the tests run on', () => {
    const lock = z
      .object({ packages: z.record(z.string(), z.object({ version: z.string().optional() })) })
      .parse(JSON.parse(read('package-lock.json')));
    expect(baseImage()).toContain(`:${lock.packages['node_modules/node']?.version}-`);
  });

  test('the worker image runs without root, stops by SIGTERM and has a health check', () => {
    expect(dockerfile).toMatch(/^USER [1-9]\d*:[1-9]\d*$/m);
    expect(dockerfile).toMatch(/^STOPSIGNAL SIGTERM$/m);
    const [, check = ''] = /^HEALTHCHECK .*CMD \["node", "(.*)"\]$/m.exec(dockerfile) ?? [];
    expect(read(check)).toContain('/health');
  });

  test('the worker image has `turnfold` on the PATH and as its command', () => {
    const [, target = '', link] = /^RUN ln -s (\S+) (\S+)$/m.exec(dockerfile) ?? [];
    expect(link).toBe('/usr/local/bin/turnfold');
    const { bin } = z.object({ bin: z.object({ turnfold: z.string() }) }).parse(JSON.parse(read('package.json')));
    expect(target).toBe(`/app/${bin.turnfold}`);
    expect(dockerfile).toContain(`chmod 755 ${bin.turnfold}`);
    expect(dockerfile).toMatch(/^ENTRYPOINT \["turnfold"\]$/m);
  });

  test('.dockerignore lets through exactly the files that the Dockerfile copies', () => {
    const passed = read('.dockerignore')
      .split('\n')
      .flatMap((line) => (line.startsWith('!') ? [line.slice(1)] : []));
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(([, paths = '']) =>
      paths.split(' '),
    );
    expect([...new Set(copied)].toSorted()).toEqual(passed.toSorted());
  });
});

describe('deploy/compose/secrets.yml', () => {
  const over = readCompose('deploy/compose/secrets.yml');

  test('secrets.yml names existing services, and secrets that it declares', () => {
    for (const [name, { secrets }] of Object.entries(over.services)) {
      expect(Object.keys(services)).toContain(name);
      expect(secrets.length).toBeGreaterThan(0);
      for (const secret of secrets) expect(Object.keys(over.secrets)).toContain(secret);
    }
  });

  test('secrets.yml lets every worker read the address of Redis from a file', () => {
    expect(workers.map(([name]) => name).filter((name) => over.services[name] === undefined)).toEqual([]);
    for (const [name] of workers) {
      const { environment, secrets } = over.services[name] ?? { environment: {}, secrets: [] };
      expect(environment).toEqual({ REDIS_URL: '', REDIS_URL_FILE: '/run/secrets/redis_url' });
      expect(listVariables()).toEqual(expect.arrayContaining(Object.keys(environment)));
      expect(secrets).toContain('redis_url');
    }
  });

  test('secrets.yml changes only the password of Redis', () => {
    const options = (command: readonly string[]): readonly string[] => command.slice(command.indexOf('--save'));
    expect(options(over.services['redis']?.command ?? [])).toEqual(options(redis?.command ?? []));
  });
});

describe.each(PROVIDERS)('deploy/compose/%s.yml', (provider) => {
  const over = readCompose(`deploy/compose/${provider}.yml`);

  test('the compose file of a provider gives its key as a file to workers only', () => {
    const secret = `${provider}_api_key`;
    expect(over.secrets).toEqual({ [secret]: { file: `./deploy/compose/secrets/${secret}` } });
    expect(Object.keys(over.services).toSorted()).toEqual(workers.map(([name]) => name).toSorted());
    for (const { environment, secrets } of Object.values(over.services)) {
      expect(environment).toEqual({ [`${provider.toUpperCase()}_API_KEY_FILE`]: `/run/secrets/${secret}` });
      expect(listVariables()).toEqual(expect.arrayContaining(Object.keys(environment)));
      expect(secrets).toEqual([secret]);
    }
  });
});

test("compose connects Prometheus with Alertmanager, which reads its receivers' addresses from files", () => {
  const alertingSchema = z.object({
    alerting: z.object({
      alertmanagers: z.array(z.object({ static_configs: z.array(z.object({ targets: z.array(z.string()) })) })),
    }),
  });
  const { alertmanagers } = alertingSchema.parse(parse(read('deploy/prometheus/prometheus.yml'))).alerting;
  const targets = alertmanagers.flatMap(({ static_configs }) => static_configs.flatMap((config) => config.targets));
  expect(targets).toEqual(['alertmanager:9093']);
  expect(services['alertmanager']?.ports.map((port) => port.split(':').at(-1))).toEqual(['9093']);

  const needed = [...read('deploy/prometheus/alertmanager.yml').matchAll(/_file: \/run\/secrets\/(\w+)$/gm)];
  const over = readCompose('deploy/compose/alerts.yml');
  const names = needed.map(([, name = '']) => name);
  expect(names.length).toBeGreaterThan(0);
  expect(over.services['alertmanager']?.secrets).toEqual(names);
  expect(over.secrets).toEqual(
    Object.fromEntries(names.map((name) => [name, { file: `./deploy/compose/secrets/${name}` }])),
  );
});

/** Compose 1, which takes a default within a default for text, starts these files, too. */
test.each(['docker-compose.yml', 'deploy/compose/secrets.yml'])(
  'the compose file %s has no nested default value, which Compose 1 would not understand',
  (path) => {
    const defaults = [...read(path).matchAll(/\$\{\w+:-([^}]*)/g)].map(([, text]) => text);
    expect(defaults.length).toBeGreaterThan(0);
    expect(defaults.filter((text) => text?.includes('$'))).toEqual([]);
  },
);

test('Prometheus finds every worker by the addresses of its compose service', () => {
  const configSchema = z.object({
    scrape_configs: z.array(
      z.object({
        job_name: z.string(),
        dns_sd_configs: z
          .array(z.object({ names: z.array(z.string()), type: z.string(), port: z.number() }))
          .default([]),
      }),
    ),
  });
  const { scrape_configs } = configSchema.parse(parse(read('deploy/prometheus/prometheus.yml')));
  const found = scrape_configs.flatMap(({ job_name, dns_sd_configs }) =>
    dns_sd_configs.flatMap(({ names, type, port }) => names.map((name) => ({ job_name, name, type, port }))),
  );
  const { metrics } = readConfig({});
  expect(found).toEqual(workers.map(([name]) => ({ job_name: 'turnfold', name, type: 'A', port: metrics.port })));
});

/** Settings of a worker with an empty environment. */
function givenBy(environment: Readonly<Record<string, string | null>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) => (value === null ? [] : [[name, value]])),
  );
}

/** A compose value with an empty environment. */
function byDefault(text: string): string {
  return text.replace(/^\$\{\w+:-([^{}]*)\}$/, '$1');
}

function bytesOf(size: string): number {
  const [, count, unit = ''] = /^(\d+)([mg])b?$/.exec(size) ?? [];
  return Number(count) * (unit === 'g' ? 1_024 ** 3 : 1_024 ** 2);
}

function baseImage(): string {
  return /^ARG NODE_IMAGE=(.*)$/m.exec(dockerfile)?.[1] ?? '';
}

function optionOf(command: readonly string[], name: string): string {
  const at = command.indexOf(name);
  return at === -1 ? `no ${name}` : (command[at + 1] ?? '');
}
