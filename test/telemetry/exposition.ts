/**
 * Reads a page in Prometheus' text format. promtool checks the format itself (promtool.test.ts).
 * @returns values by series, as `name{label="value"}` with the labels in order
 */
export function readSeries(page: string): Map<string, number> {
  const lines = page.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(lines.map(readSample));
}

function readSample(line: string): [series: string, value: number] {
  const [, name, labels = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
  if (name === undefined) throw new Error(`not a sample: ${line}`);
  const pairs = labels.match(/\w+="(?:[^"\\]|\\.)*"/g) ?? [];
  return [pairs.length === 0 ? name : `${name}{${pairs.toSorted().join(',')}}`, Number(value)];
}
