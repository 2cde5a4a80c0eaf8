import { createHash } from 'node:crypto';

/**
 * A text apart from its names. Ids and fencing numbers are made up by whoever needs one and only ever compared with each other;
 * times are only ever compared with now. So two texts of one shape say the same if there is a renaming between their names.
 */
export interface Template {
  readonly shape: string;
  /** ids, epochs and times, in the order in which they stand */
  readonly names: readonly string[];
}

/** Every id that a world gives out begins so. */
export const ID_MARK = '_i';
/** Ids of ours, ids of children (a hash of such), times in ms since epoch. */
const NAMES = /_i[\w./-]+|\bs-[0-9a-f]{16,64}\b|\b1[67]\d{11}\b/g;

export function toTemplate(text: string): Template {
  const names: string[] = [];
  const blank = text.replace(NAMES, (name) => {
    names.push(name);
    return '\u0001';
  });
  return { shape: hashText(blank), names };
}

export function joinTemplates(templates: readonly Template[]): Template {
  return {
    shape: hashText(templates.map(({ shape }) => shape).join()),
    names: templates.flatMap(({ names }) => names),
  };
}

/** Gives every name a number in the order in which they come up, and every time its distance from now. */
export class Renaming {
  readonly #numbers = new Map<string, string>();
  readonly #now: number;

  constructor(now: number) {
    this.#now = now;
  }

  rename(name: string): string {
    if (!name.startsWith(ID_MARK) && !name.startsWith('s-')) {
      const ms = Number(name) - this.#now;
      return ms > 0 ? `+${ms}` : 'past';
    }
    let number = this.#numbers.get(name);
    if (number === undefined) {
      number = `#${this.#numbers.size}`;
      this.#numbers.set(name, number);
    }
    return number;
  }

  write({ shape, names }: Template): string {
    return `${shape} ${names.map((name) => this.rename(name)).join()}`;
  }

  /** Those of which it does not matter which comes first. */
  writeAll(templates: readonly Template[]): string {
    const keyed = templates.map((template) => ({ template, key: this.#preview(template) }));
    return keyed
      .toSorted((a, b) => (a.key < b.key ? -1 : 1))
      .map(({ template }) => this.write(template))
      .join('\n');
  }

  renameIn(text: string): string {
    return text.replace(NAMES, (name) => this.rename(name));
  }

  /** By which they are sorted: no name that has no number yet has a part in it. */
  #preview({ shape, names }: Template): string {
    return `${shape} ${names.map((name) => this.#numbers.get(name) ?? '?').join()}`;
  }
}

export function hashText(text: string): string {
  return createHash('md5').update(text).digest('base64');
}
