/** Writes the rules for the Prometheus operator: `npx node deploy/kubernetes/build.ts`. A test compares both. */
import { writeFileSync } from 'node:fs';
import { printPrometheusRule } from './prometheus-rule.ts';

writeFileSync(new URL('./prometheus-operator/prometheus-rule.yaml', import.meta.url), printPrometheusRule());
