/** Definition of a metric. Units are base units: seconds, tokens, ratios. */
export interface MetricSpec<Label extends string = string> {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly name: string;
  readonly help: string;
  /** Labels with few values. Ids and tool names are never labels, because each new value adds a series for good. */
  readonly labels: readonly Label[];
  /** Upper bounds of a histogram. */
  readonly buckets?: readonly number[];
  /** Label sets that exist from the start, at 0. `rate` needs a first value to see the first increase. */
  readonly start?: readonly LabelSet[];
}

export type LabelSet = Readonly<Record<string, string>>;

/** Known values of each label. An empty list stands for values that only events bring, such as names of models. */
type Values<Label extends string> = { readonly [Name in Label]: readonly string[] };

/** @param values all combinations exist from the start. Several objects exclude combinations that cannot occur. */
export function counter<Label extends string = never>(name: string, help: string, ...values: Values<Label>[]) {
  return { type: 'counter', name, help, ...describeLabels(values) } as const;
}

/** @param values as for a counter */
export function histogram<Label extends string = never>(
  name: string,
  help: string,
  buckets: readonly number[],
  ...values: Values<Label>[]
) {
  return { type: 'histogram', name, help, buckets, ...describeLabels(values) } as const;
}

/** A gauge has no series from the start: a wrong 0 would hide that nothing is measured. */
export function gauge<Label extends string = never>(name: string, help: string, ...labels: readonly Label[]) {
  return { type: 'gauge', name, help, labels } as const;
}

function describeLabels<Label extends string>(values: readonly Values<Label>[]) {
  const labels = Object.keys(values[0] ?? {}) as Label[];
  return { labels, start: labels.length === 0 ? [{}] : values.flatMap(combine) };
}

function combine(values: Values<string>): LabelSet[] {
  return Object.entries(values).reduce<LabelSet[]>(
    (sets, [label, own]) => sets.flatMap((set) => own.map((value) => ({ ...set, [label]: value }))),
    [{}],
  );
}

/** A trivial turn takes milliseconds, an approval may take a day. */
export const TURN_SECONDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 3_600, 21_600, 86_400];
/** The last bound is the time limit of a step. */
export const CALL_SECONDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
export const CONTEXT_TOKENS = [
  500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000, 512_000, 1_000_000,
];
/** A summary has at most 2,000 tokens by default. */
export const SUMMARY_TOKENS = [32, 64, 125, 250, 500, 750, 1_000, 1_500, 2_000, 4_000];
export const COUNTS = [0, 1, 2, 4, 8, 16, 32, 64, 128, 256];
/** Our estimate divided by the provider's count. */
export const RATIOS = [0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 1.02, 1.05, 1.1, 1.2, 1.35, 1.5, 2];
