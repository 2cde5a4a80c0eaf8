/** The largest size at which all fit into `budget` when larger ones are clipped to it: short ones leave theirs to long ones. */
export function fairShare(sizes: readonly number[], budget: number): number {
  let left = budget;
  let share = budget;
  sizes
    .toSorted((a, b) => a - b)
    .forEach((size, index) => {
      share = Math.max(0, Math.floor(left / (sizes.length - index)));
      left -= Math.min(size, share);
    });
  return share;
}
