/** Returns the size to which larger items are clipped so that all items fit. Small items leave room to large ones. */
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
