import { readdirSync, readFileSync } from 'node:fs';
import { parse, stringify } from 'yaml';

const source = new URL('../prometheus/', import.meta.url);

const HEADER = `# Written by deploy/kubernetes/build.ts from deploy/prometheus/*.rules.yml: change those. Kustomize can read neither what
# stands above it nor a file that is no resource.
`;

/** The rules that Prometheus loads from files, as the one resource that its operator takes them from. */
export function printPrometheusRule(): string {
  const files = readdirSync(source).filter((name) => name.endsWith('.rules.yml'));
  const groups = files.toSorted().flatMap((name) => readGroups(readFileSync(new URL(name, source), 'utf8')));
  const resource = {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PrometheusRule',
    metadata: { name: 'turnfold', labels: { 'app.kubernetes.io/name': 'turnfold' } },
    spec: { groups },
  };
  return HEADER + stringify(resource, { lineWidth: 120 });
}

function readGroups(text: string): readonly unknown[] {
  return (parse(text) as { groups: readonly unknown[] }).groups;
}
