import { createHash } from 'node:crypto';

/**
 * A text with its names taken out. Ids and epochs are arbitrary: code only compares them with each other. Times are only
 * compared with now. So two texts with equal shapes mean the same if their names can be matched one to one.
 */
export interface Template {
  readonly shape: string;
  /** Ids, epochs and times, in the order of the text. */
  readonly names: readonly string[];
}

/** Prefix of every id that a world creates. */
export const ID_MARK = '_i';
/** Ids of a world, ids of summarization jobs (a hash of such ids), incarnations (`sec.micros`), and times in ms since epoch. */
const NAMES = /_i[\w./-]+|\bs-[0-9a-f]{16,64}\b|\b1[67]\d{8}\.\d+\b|\b1[67]\d{11}\b/g;
const IS_TIME = /^\d+$/;

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

/** Numbers every name in the order of its first use, and replaces every time by its distance from now. */
export class Renaming {
  readonly #numbers = new Map<string, string>();
  readonly #now: number;

  constructor(now: number) {
    this.#now = now;
  }

  write({ shape, names }: Template): string {
    return `${shape} ${names.map((name) => this.#rename(name)).join()}`;
  }

  /** Writes a set of templates in sorted order. The sort ignores names that have no number yet. */
  writeAll(templates: readonly Template[]): string {
    const keyed = templates.map((template) => ({
      template,
      key: `${template.shape} ${template.names.map((name) => this.#numbers.get(name) ?? '?').join()}`,
    }));
    return keyed
      .toSorted((a, b) => (a.key < b.key ? -1 : 1))
      .map(({ template }) => this.write(template))
      .join('\n');
  }

  #rename(name: string): string {
    if (IS_TIME.test(name)) {
      const ms = Number(name) - this.#now;
      return ms > 0 ? `+${ms}` : 'past';
    }
    const number = this.#numbers.get(name) ?? `#${this.#numbers.size}`;
    this.#numbers.set(name, number);
    return number;
  }
}

export function hashText(text: string): string {
  return createHash('md5').update(text).digest('base64');
}
