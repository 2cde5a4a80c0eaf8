import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { printPrometheusRule } from '../../deploy/kubernetes/prometheus-rule.ts';
import { listVariables } from '../../src/host/config/check-settings.ts';
import { readConfig } from '../../src/host/config.ts';
import { ROLES } from '../../src/host/start-workers.ts';
import { STATES } from '../../src/jobs/bullmq/queue-reports.ts';
import { QUEUES } from '../../src/jobs/queues.ts';
import { listNodes, readRedisAddress } from '../../src/store/redis/address.ts';
import { GAUGES, METRICS } from '../../src/telemetry/metric-catalogue.ts';
import { readSelectors } from './promql-names.ts';
import { ALERTS, RECORDINGS } from './rule-files.ts';

const kubectl = 'kubectl';
const folder = fileURLToPath(new URL('../../deploy/kubernetes', import.meta.url));

const named = z.looseObject({ kind: z.string(), metadata: z.looseObject({ name: z.string() }) });
const probe = z.object({ httpGet: z.object({ path: z.string(), port: z.string() }) });
const patchSchema = z.object({
  spec: z.object({
    template: z.object({
      spec: z.looseObject({
        terminationGracePeriodSeconds: z.number(),
        containers: z.tuple([
          z.looseObject({
            image: z.string(),
            env: z.array(z.object({ name: z.string(), value: z.string() })),
            ports: z.array(z.object({ name: z.string(), containerPort: z.number() })),
            startupProbe: probe,
            livenessProbe: probe,
            readinessProbe: probe,
            volumeMounts: z.array(z.looseObject({ name: z.string(), mountPath: z.string() })),
          }),
        ]),
      }),
    }),
  }),
});
const deploymentSchema = z.object({
  metadata: z.object({ name: z.string() }),
  spec: z.object({
    replicas: z.never().optional(),
    template: z.object({
      spec: z.looseObject({ containers: z.tuple([z.object({ name: z.string(), args: z.array(z.string()) })]) }),
    }),
  }),
});
const budgetSchema = z.object({
  spec: z.object({ selector: z.object({ matchLabels: z.record(z.string(), z.string()) }) }),
});
const scaledSchema = z.object({
  spec: z.object({
    scaleTargetRef: z.object({ name: z.string() }),
    minReplicaCount: z.number(),
    maxReplicaCount: z.number(),
    triggers: z.array(
      z.looseObject({
        type: z.literal('prometheus'),
        metricType: z.enum(['AverageValue', 'Value']).default('AverageValue'),
        metadata: z.object({
          serverAddress: z.url(),
          query: z.string(),
          threshold: z.string(),
          ignoreNullValues: z.literal('false'),
        }),
      }),
    ),
  }),
});
const settingsSchema = z.object({
  configMapGenerator: z.tuple([z.object({ name: z.string(), literals: z.array(z.string()) })]),
});

const policySchema = z.object({
  spec: z.object({
    podSelector: z.object({ matchLabels: z.record(z.string(), z.string()) }),
    egress: z.array(z.object({ ports: z.array(z.object({ port: z.number(), protocol: z.string().optional() })) })),
  }),
});
const monitorSchema = z.object({
  spec: z.object({
    podMetricsEndpoints: z.tuple([
      z.object({ relabelings: z.array(z.object({ targetLabel: z.string(), replacement: z.string().optional() })) }),
    ]),
  }),
});
const podsSchema = z.object({
  spec: z.object({ template: z.object({ metadata: z.object({ labels: z.record(z.string(), z.string()) }) }) }),
});
const ruleSchema = z.object({
  spec: z.object({ groups: z.array(z.object({ name: z.string(), rules: z.array(z.unknown()) })) }),
});
const dashboardSchema = z.object({
  metadata: z.object({
    name: z.string(),
    namespace: z.string(),
    labels: z.object({ grafana_dashboard: z.literal('1') }),
  }),
  data: z.record(z.string(), z.string()),
});

/** Limit for the annotations of an object. */
const MAX_ANNOTATION_BYTES = 262_144;

const documents = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.yaml'))
  .flatMap((file) => readDocuments(file).map((document) => ({ file, document })));

const ofKind = (kind: string): unknown[] =>
  documents.flatMap(({ document }) => (named.safeParse(document).data?.kind === kind ? [document] : []));

const deployments = documents
  .filter(({ file }) => file.endsWith('-worker.yaml'))
  .map(({ document }) => deploymentSchema.parse(document));
const pod = patchSchema.parse(readDocuments('base/worker.yaml')[0]).spec.template.spec;
const [worker] = pod.containers;
const scaled = ofKind('ScaledObject').map((document) => scaledSchema.parse(document).spec);
const settings = readSettings();

describe('deploy/kubernetes', () => {
  test('each role has a Kubernetes deployment, a disruption budget and a scale', () => {
    const names = deployments.map(({ metadata }) => metadata.name).toSorted();
    expect(names).toEqual(ROLES.map((role) => `${role}-worker`).toSorted());
    for (const { metadata, spec } of deployments) {
      const { args } = spec.template.spec.containers[0];
      expect(`${args[args.indexOf('--roles') + 1]}-worker`).toBe(metadata.name);
    }
    const budgets = ofKind('PodDisruptionBudget').map((document) => budgetSchema.parse(document).spec.selector);
    const covered = budgets.map(({ matchLabels }) => matchLabels['app.kubernetes.io/component'] ?? '');
    expect(covered.toSorted()).toEqual(names);
    expect(scaled.map(({ scaleTargetRef }) => scaleTargetRef.name).toSorted()).toEqual(names);
  });

  test('the Kubernetes manifests set only settings that workers read, and give workers time to close', () => {
    const { shutdownMs, concurrency } = readConfig(settings);
    expect(Object.keys(settings)).toContain('TURNFOLD_SHUTDOWN_MS');
    const variables = [...Object.keys(settings), ...worker.env.map(({ name }) => name)];
    expect(listVariables()).toEqual(expect.arrayContaining(variables));
    expect(pod.terminationGracePeriodSeconds * 1_000).toBeGreaterThan(shutdownMs);
    expect(concurrency).toEqual({ turn: 50, compaction: 10, summarization: 10 });
  });

  test('the Kubernetes manifests pass secrets as files, even in commented parts', () => {
    const text = readFileSync(`${folder}/base/worker.yaml`, 'utf8').replaceAll('# - { name:', '- { name:');
    const [{ env, volumeMounts }] = patchSchema.parse(parse(text)).spec.template.spec.containers;
    const [secrets] = volumeMounts;
    expect(env.length).toBeGreaterThan(worker.env.length);
    expect(listVariables()).toEqual(expect.arrayContaining(env.map(({ name }) => name)));
    for (const { name, value } of env) {
      expect(name).toMatch(/_FILE$/);
      expect(value.startsWith(`${secrets?.mountPath}/`)).toBe(true);
    }
  });

  test('Kubernetes probes health and readiness at the metrics port', () => {
    const { metrics } = readConfig({});
    expect(worker.ports).toEqual([{ name: 'metrics', containerPort: metrics.port }]);
    const paths = [worker.startupProbe, worker.livenessProbe, worker.readinessProbe].map(({ httpGet }) => httpGet);
    expect(paths.map(({ path }) => path)).toEqual(['/health', '/health', '/ready']);
    expect(new Set(paths.map(({ port }) => port))).toEqual(new Set(['metrics']));
  });

  test('KEDA scales by metrics and labels of the catalogue, and by existing queues and states', () => {
    const known = new Map(
      Object.values({ ...GAUGES, ...METRICS }).map(({ name, labels }) => [name, labels as readonly string[]]),
    );
    for (const { triggers, minReplicaCount, maxReplicaCount } of scaled) {
      expect(minReplicaCount).toBeGreaterThan(0); // the gauges come from the workers
      expect(maxReplicaCount).toBeGreaterThan(minReplicaCount);
      for (const { metadata } of triggers) {
        const selectors = readSelectors(metadata.query);
        expect(selectors.length).toBeGreaterThan(0);
        for (const { metric, matched, grouped } of selectors) {
          expect([...known.keys()]).toContain(metric);
          expect(known.get(metric)).toEqual(expect.arrayContaining(without(matched, 'job').concat(grouped)));
        }
        for (const [, queue] of metadata.query.matchAll(/queue="(.*?)"/g)) expect(Object.keys(QUEUES)).toContain(queue);
        for (const [, states = ''] of metadata.query.matchAll(/state=~?"(.*?)"/g)) {
          expect(STATES).toEqual(expect.arrayContaining(states.split('|')));
        }
      }
    }
  });

  test('the KEDA queries select metrics by the `job` label of the PodMonitor', () => {
    const [endpoint] = monitorSchema.parse(ofKind('PodMonitor')[0]).spec.podMetricsEndpoints;
    const job = endpoint.relabelings.find(({ targetLabel }) => targetLabel === 'job')?.replacement;
    expect(job).toMatch(/^turnfold/);
    for (const { query } of scaled.flatMap(({ triggers }) => triggers.map(({ metadata }) => metadata))) {
      const matched = [...query.matchAll(/\bjob="(.*?)"/g)].map(([, name]) => name);
      expect(matched, query).toEqual(readSelectors(query).map(() => job));
    }
  });

  test('KEDA adds a worker before the present workers are at full concurrency', () => {
    const { concurrency } = readConfig(settings);
    for (const { scaleTargetRef, triggers } of scaled) {
      const [work] = triggers.filter(({ metricType }) => metricType === 'AverageValue');
      const role = ROLES.find((each) => scaleTargetRef.name === `${each}-worker`) ?? 'turn';
      expect(Number(work?.metadata.threshold)).toBe(concurrency[role] * 0.8);
    }
  });

  test('the network policy lets workers connect to Redis, Sentinels and an optional trace collector', () => {
    const file = readFileSync(`${folder}/base/network-policy.yaml`, 'utf8');
    const portsOf = (text: string): number[] =>
      policySchema.parse(parse(text)).spec.egress.flatMap(({ ports }) => ports.map(({ port }) => port));
    const asked = ['redis://a', 'redis+sentinel://a/master', 'redis+cluster://a'].flatMap((text) => {
      const address = readRedisAddress(text);
      return address === undefined ? [] : listNodes(address).map(({ port }) => port || 6_379);
    });
    expect(asked).toEqual([6_379, 26_379, 6_379]);
    expect(portsOf(file)).toEqual(expect.arrayContaining(asked));
    expect(portsOf(file.replaceAll('# - {', '- {'))).toEqual([...portsOf(file), 4_317, 4_318]);
  });

  test('the PrometheusRule is the output of `node deploy/kubernetes/build.ts`', () => {
    expect(readFileSync(`${folder}/prometheus-operator/prometheus-rule.yaml`, 'utf8')).toBe(printPrometheusRule());
    const [resource] = ofKind('PrometheusRule');
    const { groups } = ruleSchema.parse(resource).spec;
    const rules = groups.flatMap((group) => group.rules);
    expect(rules).toHaveLength(ALERTS.length + RECORDINGS.length);
    expect(rules).toEqual(expect.arrayContaining([...ALERTS, ...RECORDINGS]));
    expect(new Set(groups.map(({ name }) => name)).size).toBe(groups.length);
  });

  test('kustomize builds the Kubernetes manifests (skipped without kubectl)', ({ skip }) => {
    const built = buildWithKustomize(folder);
    if (built === undefined) return skip('kubectl is not on PATH');
    expect(built.stderr).toBe('');
    const resources = parseAllDocuments(built.stdout).map((document) => named.parse(document.toJS()));
    const kinds = resources.map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'Deployment')).toHaveLength(ROLES.length);
    expect(kinds).toEqual(
      expect.arrayContaining(['ConfigMap', 'NetworkPolicy', 'PodMonitor', 'PrometheusRule', 'ScaledObject', 'Service']),
    );
    for (const { metadata } of resources) expect(metadata['namespace'], metadata.name).toBe('turnfold');
    // The policy holds the workers, and nothing else that lives in the namespace.
    const { matchLabels } = policySchema.parse(resources.find(({ kind }) => kind === 'NetworkPolicy')).spec.podSelector;
    expect(matchLabels).toEqual({ 'app.kubernetes.io/name': 'turnfold' });
    for (const deployment of resources.filter(({ kind }) => kind === 'Deployment')) {
      expect(podsSchema.parse(deployment).spec.template.metadata.labels).toMatchObject(matchLabels);
    }
    for (const resource of resources) {
      expect(Buffer.byteLength(JSON.stringify(resource)), resource.metadata.name).toBeLessThan(MAX_ANNOTATION_BYTES);
    }
    // Each Deployment has been laid under worker.yaml, and its image named.
    expect(built.stdout.split(`terminationGracePeriodSeconds: ${pod.terminationGracePeriodSeconds}\n`)).toHaveLength(
      ROLES.length + 1,
    );
    expect(built.stdout).not.toMatch(/image: turnfold$/m);
  });

  test("kustomize puts each dashboard into a ConfigMap for Grafana's sidecar (skipped without kubectl)", ({ skip }) => {
    const built = buildWithKustomize(folder);
    if (built === undefined) return skip('kubectl is not on PATH');
    const found = parseAllDocuments(built.stdout).flatMap((document) => {
      const { data } = dashboardSchema.safeParse(document.toJS());
      return data === undefined ? [] : Object.entries(data.data);
    });
    const dashboards = fileURLToPath(new URL('../../deploy/grafana/dashboards', import.meta.url));
    const files = readdirSync(dashboards).map((name) => [name, readFileSync(`${dashboards}/${name}`, 'utf8')]);
    expect(files.length).toBeGreaterThan(0);
    expect(found).toHaveLength(files.length);
    expect(Object.fromEntries(found)).toEqual(Object.fromEntries(files));
  });
});

function without(labels: readonly string[], label: string): string[] {
  return labels.filter((each) => each !== label);
}

function buildWithKustomize(root: string): { readonly stdout: string; readonly stderr: string } | undefined {
  const built = spawnSync(kubectl, ['kustomize', root], { encoding: 'utf8', maxBuffer: 16 * 1024 * 1024 });
  return built.error === undefined ? built : undefined;
}

function readDocuments(file: string): unknown[] {
  return parseAllDocuments(readFileSync(`${folder}/${file}`, 'utf8')).map((document) => {
    expect(document.errors, file).toEqual([]);
    return document.toJS() as unknown;
  });
}

function readSettings(): Record<string, string> {
  const [{ literals }] = settingsSchema.parse(readDocuments('base/kustomization.yaml')[0]).configMapGenerator;
  return Object.fromEntries(literals.map((literal) => literal.split('=') as [string, string]));
}
