/** Scripts say from then on what they may do: ours for a full Redis need it, and an older one does not compile them. */
export const LEAST_REDIS = '7.0';

/** Whether one version is as new as another; both of numbers and dots, what follows a dash left aside. */
export function isAtLeast(version: string, least: string): boolean {
  const found = toNumbers(version);
  for (const [place, wanted] of toNumbers(least).entries()) {
    const there = found[place] ?? 0;
    if (there !== wanted) return there > wanted;
  }
  return true;
}

function toNumbers(version: string): number[] {
  return (version.split('-', 1)[0] ?? '').split('.').map(Number);
}
