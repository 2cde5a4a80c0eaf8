/** Bounds of a shortened value, the widest first. The last ones fit any value of the tools. */
const BOUNDS: readonly { readonly items: number; readonly characters: number }[] = [
  { items: 1_000, characters: 4_000 },
  { items: 300, characters: 2_000 },
  { items: 100, characters: 1_000 },
  { items: 40, characters: 400 },
  { items: 16, characters: 200 },
  { items: 6, characters: 100 },
];

/**
 * Writes a value as JSON of at most `most` characters. In a larger value, long lists and texts keep their start and
 * their end, and say how much is left out. The result is still JSON, which a cut text would not be.
 */
export function fitJson(value: unknown, most: number): string {
  const whole = JSON.stringify(value) ?? 'null';
  if (whole.length <= most) return whole;
  for (const bounds of BOUNDS) {
    const json = JSON.stringify(shorten(value, bounds)) ?? 'null';
    if (json.length <= most) return json;
  }
  return JSON.stringify(`(a value of ${whole.length} characters is left out)`);
}

export function clipMiddle(text: string, most: number): string {
  if (text.length <= most) return text;
  const half = Math.floor(most / 2);
  return `${text.slice(0, half)}\n[… ${text.length - 2 * half} characters left out …]\n${text.slice(-half)}`.toWellFormed();
}

function shorten(value: unknown, bounds: (typeof BOUNDS)[number]): unknown {
  if (typeof value === 'string') return clipMiddle(value, bounds.characters);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const left = value.length - bounds.items;
    if (left <= 0) return value.map((item) => shorten(item, bounds));
    const half = bounds.items / 2;
    const ends = [value.slice(0, half), value.slice(-half)].map((end) => end.map((item) => shorten(item, bounds)));
    return [...(ends[0] ?? []), `… ${left} left out …`, ...(ends[1] ?? [])];
  }
  const entries = Object.entries(value);
  const shown = entries.slice(0, bounds.items).map(([name, field]) => [name, shorten(field, bounds)] as const);
  const left = entries.length - shown.length;
  return Object.fromEntries(left > 0 ? [...shown, ['…', `${left} left out`]] : shown);
}
