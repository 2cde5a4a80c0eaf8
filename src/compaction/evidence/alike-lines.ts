import { endsSlice, type Interruptible } from '../../domain/interruptible.ts';
import type { Fragment } from './ledger.ts';

/** Lines that differ only in numbers, times and ids, such as the lines of a loop in a log. */
export interface AlikeLines {
  /** Number of such lines, this line included. */
  readonly size: number;
  readonly areEqual: boolean;
  /** True for lines of a log below the level of an error, and for lines of a progress. */
  readonly areNoise: boolean;
  /** Index of the last of the lines. */
  readonly last: number;
}

/** Minimum number of alike lines of a message. Fewer lines are hardly noise. */
const MIN_ALIKE = 4;
const MAX_CHARS = 400;
/** Minimum number of letters. A shorter line, such as `status: paid`, may describe several things. */
const MIN_LETTERS = 16;
const LOGGED = /^\W{0,3}(?:[\d:.,TZ /+-]+\W{0,3})?(?:TRACE|DEBUG|INFO|NOTICE)\b|\d\s?%/i;
const CHANGING =
  /0x[\da-f]+|(?<![\p{L}\p{N}])(?=[a-f-]{0,40}\d)[\da-f]{6,40}(?:-[\da-f]{4,40}){0,8}(?![\p{L}\p{N}])|\d+(?:[.:,]\d+)*/giu;
const BAR = /[[|][\s█▏▎▍▌▋▊▉░▒▓■□━#=.*>-]{3,}[\]|]|[█▏▎▍▌▋▊▉░▒▓■□━#=.*>-]{3,}/g;

/** Leaves out what changes from line to line. @returns undefined for a line that says too little, and for a long line */
export function formOfLine(line: string): string | undefined {
  if (line.length > MAX_CHARS) return undefined;
  const form = line.replaceAll(CHANGING, '0').replaceAll(BAR, '~').replaceAll(/\s+/g, ' ').trim();
  const letters = form.match(/\p{L}/gu)?.length ?? 0;
  return letters >= MIN_LETTERS || (letters > 0 && LOGGED.test(line)) ? form : undefined;
}

/** Finds alike lines of a message that belong to the same owner. Only lines of results are alike, but no fields of JSON. */
export function* findAlikeLines(fragments: readonly Fragment[]): Interruptible<ReadonlyMap<number, AlikeLines>> {
  const alike = new Map<number, AlikeLines>();
  let forms = new Map<string, number[]>();
  let place: Pick<Fragment, 'message' | 'partIndex'> | undefined;
  const close = (): void => {
    for (const own of forms.values())
      if (own.length >= MIN_ALIKE) for (const index of own) alike.set(index, group(own));
    forms = new Map();
  };
  const group = (own: readonly number[]): AlikeLines => {
    const texts = new Set(own.map((index) => fragments[index]?.text.trim()));
    const areNoise = texts.values().every((text = '') => LOGGED.test(text));
    return { size: own.length, areEqual: texts.size === 1, areNoise, last: own.at(-1) as number };
  };
  for (const [index, fragment] of fragments.entries()) {
    if (endsSlice(index)) yield;
    const { message, part, partIndex, owner, field, text } = fragment;
    if (place?.message !== message || place.partIndex !== partIndex) close();
    place = fragment;
    if (part !== 'result' || field !== undefined || !isWholeLine(fragments, index)) continue;
    const form = formOfLine(text);
    if (form === undefined) continue;
    const key = `${owner} ${form}`;
    const own = forms.get(key);
    if (own === undefined) forms.set(key, [index]);
    else own.push(index);
  }
  close();
  return alike;
}

/** True if no other record shares the line of the record, as the sentences of a paragraph do. */
export function isWholeLine(fragments: readonly Fragment[], index: number): boolean {
  const own = fragments[index];
  const sharesLine = (other: Fragment | undefined): boolean =>
    other?.line === own?.line && other?.message === own?.message && other?.partIndex === own?.partIndex;
  return !sharesLine(fragments[index - 1]) && !sharesLine(fragments[index + 1]);
}

/** True for a line of noise that is not the last of its kind. */
export function isSpareLine(alike: ReadonlyMap<number, AlikeLines>, index: number): boolean {
  const group = alike.get(index);
  return group?.areNoise === true && group.last !== index;
}

/** Says how many lines a shown line stands for. */
export function countAlike({ size, areEqual }: Pick<AlikeLines, 'size' | 'areEqual'>): string {
  return areEqual ? ` (×${size})` : ` (×${size} alike)`;
}

/** A longer text is not counted, because a count of 1 MiB would block the event loop. */
const MAX_COUNTED_CHARS = 65_536;
const GAP_BEFORE = /^… /;

/** Adds to the last shown line of each form how many alike lines the text has, if some of them are left out. */
export function countShownLines(shown: readonly string[], text: string): string[] {
  if (text.length > MAX_COUNTED_CHARS) return [...shown];
  const all = countForms(text.split('\n'));
  const left = countForms(shown);
  return shown.map((line) => {
    const form = formOfLine(line.replace(GAP_BEFORE, ''));
    const own = form === undefined ? undefined : left.get(form);
    const group = form === undefined ? undefined : all.get(form);
    if (own === undefined || group === undefined) return line;
    own.toCome -= 1;
    const isFolded = own.toCome === 0 && group.size >= MIN_ALIKE && own.size < group.size;
    return isFolded ? line + countAlike({ size: group.size, areEqual: group.texts.size === 1 }) : line;
  });
}

interface FormCount {
  size: number;
  toCome: number;
  readonly texts: Set<string>;
}

function countForms(lines: readonly string[]): Map<string, FormCount> {
  const counts = new Map<string, FormCount>();
  for (const line of lines) {
    const form = formOfLine(line.replace(GAP_BEFORE, ''));
    if (form === undefined) continue;
    const count = counts.get(form) ?? { size: 0, toCome: 0, texts: new Set<string>() };
    counts.set(form, count);
    count.size += 1;
    count.toCome += 1;
    count.texts.add(line.trim());
  }
  return counts;
}
