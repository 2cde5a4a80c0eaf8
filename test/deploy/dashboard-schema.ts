import { z } from 'zod';

const datasourceSchema = z.object({ type: z.literal('prometheus'), uid: z.string() });
const gridSchema = z.object({
  x: z.number().int().min(0),
  y: z.number().int().min(0),
  w: z.number().int().min(1),
  h: z.number().int().min(1),
});
const stepSchema = z.object({ color: z.string(), value: z.number().nullable() });

const rowSchema = z.object({
  id: z.number().int().min(1),
  type: z.literal('row'),
  title: z.string().min(1),
  gridPos: gridSchema,
  panels: z.tuple([]),
});

const panelSchema = z.object({
  id: z.number().int().min(1),
  type: z.enum(['stat', 'timeseries', 'heatmap']),
  title: z.string().min(1),
  description: z.string(),
  gridPos: gridSchema,
  datasource: datasourceSchema,
  fieldConfig: z.object({
    defaults: z.object({
      unit: z.string().min(1),
      noValue: z.string().optional(),
      /** the first has no lower end, the others rise */
      thresholds: z
        .object({ mode: z.literal('absolute'), steps: z.array(stepSchema).min(1) })
        .refine(
          ({ steps: [first, ...others] }) => first?.value === null && isAscending(others.map(({ value }) => value)),
        )
        .optional(),
    }),
    overrides: z.array(z.object({ matcher: z.object({ id: z.literal('byName'), options: z.string() }) })),
  }),
  options: z.record(z.string(), z.unknown()),
  targets: z
    .array(
      z.object({
        refId: z.string().regex(/^[A-Z]$/),
        datasource: datasourceSchema,
        expr: z.string().min(1),
        legendFormat: z.string(),
      }),
    )
    .min(1),
});

const variableSchema = z.discriminatedUnion('type', [
  z.object({ name: z.string(), type: z.literal('datasource'), current: z.object({ value: z.string() }) }),
  z.object({ name: z.string(), type: z.literal('adhoc'), datasource: datasourceSchema }),
  z.object({
    name: z.string(),
    type: z.literal('query'),
    datasource: datasourceSchema,
    query: z.object({ query: z.string() }),
    allValue: z.string(),
  }),
]);

/** Fields that Grafana needs to show a dashboard. Other fields have defaults. */
export const dashboardSchema = z.object({
  uid: z.string().regex(/^turnfold-[a-z]+$/),
  title: z.string().startsWith('turnfold / '),
  description: z.string().min(12),
  tags: z.tuple([z.literal('turnfold')]),
  schemaVersion: z.number().int(),
  refresh: z.string(),
  time: z.object({ from: z.string(), to: z.literal('now') }),
  templating: z.object({ list: z.array(variableSchema) }),
  annotations: z.object({
    list: z.array(z.object({ name: z.string(), datasource: datasourceSchema, expr: z.string() })),
  }),
  panels: z.array(z.discriminatedUnion('type', [rowSchema, panelSchema])),
});

export type DashboardFile = z.infer<typeof dashboardSchema>;
export type PanelFile = z.infer<typeof panelSchema>;

export function listPanels({ panels }: DashboardFile): PanelFile[] {
  return panels.filter((panel) => panel.type !== 'row');
}

export function listQueries(dashboard: DashboardFile): string[] {
  const ofPanels = listPanels(dashboard).flatMap(({ targets }) => targets.map(({ expr }) => expr));
  return [...ofPanels, ...listVariablesAndAnnotations(dashboard)];
}

/** Queries of template variables and annotations. */
export function listVariablesAndAnnotations(dashboard: DashboardFile): string[] {
  return [
    ...dashboard.templating.list.flatMap((variable) =>
      variable.type === 'query' ? [readVariable(variable.query.query)] : [],
    ),
    ...dashboard.annotations.list.map(({ expr }) => expr),
  ];
}

function isAscending(values: readonly (number | null)[]): boolean {
  return values.every((value, index) => value !== null && (index === 0 || value > (values[index - 1] ?? value)));
}

/** `label_values(selector, label)` counted by label: its labels are the variable's values. */
function readVariable(query: string): string {
  return query.replace(/^label_values\((.+), (\w+)\)$/, 'count by ($2) ($1)');
}
