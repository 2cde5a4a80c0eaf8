import { readdirSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';

const folder = new URL('../../deploy/prometheus/', import.meta.url);

const recordingSchema = z.strictObject({ record: z.string(), expr: z.string() });
const alertSchema = z.strictObject({
  alert: z.string(),
  expr: z.string(),
  for: z.string().optional(),
  labels: z.strictObject({ severity: z.enum(['page', 'ticket']) }),
  annotations: z.strictObject({ summary: z.string(), runbook: z.string() }),
});
const ruleFileSchema = z.strictObject({
  groups: z.array(z.strictObject({ name: z.string(), rules: z.array(z.union([recordingSchema, alertSchema])) })),
});
const testFileSchema = z.object({
  rule_files: z.array(z.string()),
  tests: z.array(
    z.object({
      alert_rule_test: z.array(z.object({ alertname: z.string(), exp_alerts: z.array(z.unknown()) })),
    }),
  ),
});

export type Recording = z.infer<typeof recordingSchema>;
export type Alert = z.infer<typeof alertSchema>;

/** Rule files by the name that `prometheus.yml` loads. */
export const RULE_FILES = readdirSync(folder).filter((name) => name.endsWith('.rules.yml'));
export const TEST_FILES = readdirSync(new URL('tests/', folder));

export function pathOf(name: string): string {
  return new URL(name, folder).pathname;
}

function readYaml(name: string): unknown {
  return parse(readFileSync(pathOf(name), 'utf8'));
}

const rules = RULE_FILES.flatMap((name) => ruleFileSchema.parse(readYaml(name)).groups.flatMap((group) => group.rules));

export const RECORDINGS: readonly Recording[] = rules.filter((rule) => 'record' in rule);
export const ALERTS: readonly Alert[] = rules.filter((rule) => 'alert' in rule);

/** Expectations of each alert in the rule tests: firing or not. */
export const EXPECTATIONS = TEST_FILES.flatMap((name) =>
  testFileSchema
    .parse(readYaml(`tests/${name}`))
    .tests.flatMap((one) => one.alert_rule_test)
    .map(({ alertname, exp_alerts }) => ({ alert: alertname, fires: exp_alerts.length > 0 })),
);

export function ruleFilesOf(testFile: string): string[] {
  return testFileSchema.parse(readYaml(`tests/${testFile}`)).rule_files;
}
