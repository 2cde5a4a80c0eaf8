import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { listVariables } from '../../src/config/check-settings.ts';
import { readConfig } from '../../src/config.ts';
import { QUEUES } from '../../src/jobs/names.ts';
import { STATES } from '../../src/queue/job-counts.ts';
import { ROLES } from '../../src/runtime/start-workers.ts';
import { GAUGES, METRICS } from '../../src/telemetry/metric-catalogue.ts';
import { readSelectors } from './promql-names.ts';

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
  test('has a deployment of each role, and a disruption budget and a scale for each', () => {
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

  test('its settings are read, and a worker has the time to close', () => {
    const { shutdownMs, concurrency } = readConfig(settings);
    expect(Object.keys(settings)).toContain('TURNFOLD_SHUTDOWN_MS');
    const variables = [...Object.keys(settings), ...worker.env.map(({ name }) => name)];
    expect(listVariables()).toEqual(expect.arrayContaining(variables));
    expect(pod.terminationGracePeriodSeconds * 1_000).toBeGreaterThan(shutdownMs);
    expect(concurrency).toEqual({ turn: 50, compaction: 10, summarization: 10 });
  });

  test('secrets are files', () => {
    const [secrets] = worker.volumeMounts;
    for (const { name, value } of worker.env) {
      expect(name).toMatch(/_FILE$/);
      expect(value.startsWith(`${secrets?.mountPath}/`)).toBe(true);
    }
  });

  test('health and readiness are asked at the page of the metrics', () => {
    const { metrics } = readConfig({});
    expect(worker.ports).toEqual([{ name: 'metrics', containerPort: metrics.port }]);
    const paths = [worker.startupProbe, worker.livenessProbe, worker.readinessProbe].map(({ httpGet }) => httpGet);
    expect(paths.map(({ path }) => path)).toEqual(['/health', '/health', '/ready']);
    expect(new Set(paths.map(({ port }) => port))).toEqual(new Set(['metrics']));
  });

  test('what scales is measured: metrics and labels of the catalogue, queues and states of the queue', () => {
    const known = new Map(
      Object.values({ ...GAUGES, ...METRICS }).map(({ name, labels }) => [name as string, labels as readonly string[]]),
    );
    for (const { triggers, minReplicaCount, maxReplicaCount } of scaled) {
      expect(minReplicaCount).toBeGreaterThan(0); // the gauges come from the workers
      expect(maxReplicaCount).toBeGreaterThan(minReplicaCount);
      for (const { metadata } of triggers) {
        const selectors = readSelectors(metadata.query);
        expect(selectors.length).toBeGreaterThan(0);
        for (const { metric, matched, grouped } of selectors) {
          expect([...known.keys()]).toContain(metric);
          expect(known.get(metric)).toEqual(expect.arrayContaining([...matched, ...grouped]));
        }
        for (const [, queue] of metadata.query.matchAll(/queue="(.*?)"/g)) expect(Object.keys(QUEUES)).toContain(queue);
        for (const [, states = ''] of metadata.query.matchAll(/state=~?"(.*?)"/g)) {
          expect(STATES).toEqual(expect.arrayContaining(states.split('|')));
        }
      }
    }
  });

  test('a worker is added before those that are there have all that they can take', () => {
    const { concurrency } = readConfig(settings);
    for (const { scaleTargetRef, triggers } of scaled) {
      const [work] = triggers.filter(({ metricType }) => metricType === 'AverageValue');
      const role = ROLES.find((each) => scaleTargetRef.name === `${each}-worker`) ?? 'turn';
      expect(Number(work?.metadata.threshold)).toBe(concurrency[role] * 0.8);
    }
  });

  test('kustomize builds it (skipped where there is no kubectl)', ({ skip }) => {
    const built = spawnSync(kubectl, ['kustomize', folder], { encoding: 'utf8' });
    if (built.error !== undefined) skip('kubectl is not on PATH');
    expect(built.stderr).toBe('');
    const kinds = parseAllDocuments(built.stdout).map((document) => named.parse(document.toJS()).kind);
    expect(kinds.filter((kind) => kind === 'Deployment')).toHaveLength(ROLES.length);
    expect(kinds).toEqual(
      expect.arrayContaining(['ConfigMap', 'NetworkPolicy', 'PodMonitor', 'ScaledObject', 'Service']),
    );
    // Each Deployment has been laid under worker.yaml, and its image named.
    expect(built.stdout.split(`terminationGracePeriodSeconds: ${pod.terminationGracePeriodSeconds}\n`)).toHaveLength(
      ROLES.length + 1,
    );
    expect(built.stdout).not.toMatch(/image: turnfold$/m);
  });
});

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
