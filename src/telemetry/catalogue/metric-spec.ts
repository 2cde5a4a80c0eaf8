/** Units are base units such as seconds, tokens or ratios. */
export interface MetricSpec<Label extends string = string> {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly name: string;
  readonly help: string;
  /** Each label has few values. Ids and tool names are never labels: every new value adds a permanent series. */
  readonly labels: readonly Label[];
  readonly buckets?: readonly number[];
  /** Label sets that start at 0. Prometheus' `rate` needs a first value to see the first increase. */
  readonly start?: readonly LabelSet[];
}

export type LabelSet = Readonly<Record<string, string>>;

/** Known values of each label. An empty list: the values are not known at the start, as for model names. */
type Values<Label extends string> = { readonly [Name in Label]: readonly string[] };

/** @param values all combinations start at 0. Several objects leave out impossible combinations */
export function counter<Label extends string = never>(name: string, help: string, ...values: Values<Label>[]) {
  return { type: 'counter', name, help, ...describeLabels(values) } as const;
}

export function histogram<Label extends string = never>(
  name: string,
  help: string,
  buckets: readonly number[],
  ...values: Values<Label>[]
) {
  return { type: 'histogram', name, help, buckets, ...describeLabels(values) } as const;
}

/** A gauge has no value before the first measurement, because a wrong 0 would hide that nothing was measured. */
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

/** Bounds from milliseconds to a day, because turns may wait for a person's approval. */
export const TURN_SECONDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 3_600, 21_600, 86_400];
/** Bounds for calls. The last bound is the time limit of a step. */
export const CALL_SECONDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
export const CONTEXT_TOKENS = [
  500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000, 512_000, 1_000_000,
];
/** Bounds for summaries, which have at most 2,000 tokens by default. */
export const SUMMARY_TOKENS = [32, 64, 125, 250, 500, 750, 1_000, 1_500, 2_000, 4_000];
export const COUNTS = [0, 1, 2, 4, 8, 16, 32, 64, 128, 256];
/** turnfold's token estimate divided by the provider's count. */
export const RATIOS = [0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 1.02, 1.05, 1.1, 1.2, 1.35, 1.5, 2];

export function toSeconds(ms: number): number {
  return ms / 1_000;
}
