/** One line of a metrics page: `name{label="value"} 12`. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly samples: readonly Sample[];
}

const NAME = '[a-zA-Z_][a-zA-Z0-9_]*';
const LABEL = `${NAME}="(?:[^"\\\\\\n]|\\\\[\\\\n"])*"`;
const HELP_LINE = new RegExp(`^# HELP (${NAME}) (\\S.*)$`);
const TYPE_LINE = new RegExp(`^# TYPE (${NAME}) (counter|gauge|histogram|summary)$`);
const SAMPLE_LINE = new RegExp(`^(${NAME})(?:\\{(${LABEL}(?:,${LABEL})*)\\})? (\\S+)$`);
const NUMBER = /^([+-]?\d+(\.\d+)?([eE][+-]?\d+)?|[+-]Inf|NaN|Nan)$/;

/**
 * Parses Prometheus' text format 0.0.4 more strictly than Prometheus. Each family appears once, with help and type
 * before its samples. Each series appears once, and histograms are complete.
 */
export function parseExposition(page: string): Family[] {
  if (!page.endsWith('\n')) throw new Error('the last line does not end');
  const families = new Map<string, Family & { samples: Sample[] }>();
  let current: (Family & { samples: Sample[] }) | undefined;
  let help: { name: string; text: string } | undefined;
  for (const line of page.split('\n').filter((text) => text !== '')) {
    const helpLine = HELP_LINE.exec(line);
    const typeLine = TYPE_LINE.exec(line);
    if (helpLine !== null) {
      help = { name: helpLine[1] ?? '', text: helpLine[2] ?? '' };
    } else if (typeLine !== null) {
      const name = typeLine[1] ?? '';
      if (help?.name !== name) throw new Error(`no help before: ${line}`);
      if (families.has(name)) throw new Error(`family twice: ${line}`);
      current = { name, help: help.text, type: typeLine[2] ?? '', samples: [] };
      families.set(name, current);
    } else {
      const sample = parseSample(line);
      if (current === undefined || !belongsTo(sample.name, current)) throw new Error(`sample of no family: ${line}`);
      current.samples.push(sample);
    }
  }
  for (const family of families.values()) checkFamily(family);
  return [...families.values()];
}

/** Values by series, as `name{label="value"}` with the labels in order. */
export function listSeries(families: readonly Family[]): Map<string, number> {
  return new Map(families.flatMap(({ samples }) => samples.map((sample) => [seriesOf(sample), sample.value] as const)));
}

function parseSample(line: string): Sample {
  const [, name, labels = '', value = ''] = SAMPLE_LINE.exec(line) ?? [];
  if (name === undefined || !NUMBER.test(value)) throw new Error(`not a sample: ${line}`);
  const pairs = [...labels.matchAll(new RegExp(LABEL, 'g'))].map(([pair]) => {
    const at = pair.indexOf('=');
    return [pair.slice(0, at), JSON.parse(pair.slice(at + 1)) as string] as const;
  });
  if (new Set(pairs.map(([label]) => label)).size !== pairs.length) throw new Error(`label twice: ${line}`);
  return { name, labels: Object.fromEntries(pairs), value: Number(value.replace('Inf', 'Infinity')) };
}

function belongsTo(name: string, { name: family, type }: Family): boolean {
  return type === 'histogram'
    ? [`${family}_bucket`, `${family}_sum`, `${family}_count`].includes(name)
    : name === family;
}

function checkFamily({ name, type, samples }: Family): void {
  const series = samples.map(seriesOf);
  if (new Set(series).size !== series.length) throw new Error(`${name}: a series twice`);
  if (type === 'counter' && samples.some(({ value }) => !(value >= 0))) throw new Error(`${name}: below 0`);
  if (type !== 'histogram') return;
  const groups = Map.groupBy(samples, ({ name: own, labels: { le: _le, ...labels } }) =>
    seriesOf({ name: own, labels, value: 0 }),
  );
  for (const count of samples.filter((sample) => sample.name === `${name}_count`)) {
    const buckets = groups.get(seriesOf({ ...count, name: `${name}_bucket` })) ?? [];
    const bounds = buckets.map(({ labels }) => Number(labels['le']?.replace('Inf', 'Infinity')));
    const values = buckets.map(({ value }) => value);
    if (!isAscending(bounds) || !isAscending(values)) throw new Error(`${name}: buckets are not cumulative`);
    if (bounds.at(-1) !== Infinity || values.at(-1) !== count.value) throw new Error(`${name}: no bucket for all`);
    if (!groups.has(seriesOf({ ...count, name: `${name}_sum` }))) throw new Error(`${name}: no sum`);
  }
}

function isAscending(values: readonly number[]): boolean {
  return values.every((value, index) => index === 0 || value >= (values[index - 1] ?? Number.NaN));
}

function seriesOf({ name, labels }: Sample): string {
  const pairs = Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1));
  if (pairs.length === 0) return name;
  return `${name}{${pairs.map(([label, value]) => `${label}=${JSON.stringify(value)}`).join(',')}}`;
}
