/** True with `--smoke`: a benchmark then runs over little data, to show that it still works. Its figures mean nothing. */
export const isSmoke = process.argv.includes('--smoke');

/** Number of things that a benchmark measures, or a small one with `--smoke`. */
export function sampleSize(full: number, smoke: number): number {
  return isSmoke ? smoke : full;
}
