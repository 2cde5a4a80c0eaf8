import { isMapping } from '../../domain/parse.ts';
import type { QuotedText } from './quoted-text.ts';
import { isCodeWritten, sectionNamed } from './section-names.ts';
import { ASKED_SECTIONS, orderSections, type Section, type Sections } from './sections.ts';

/** Names a section's tag: `goal-k3f9`. The mark is new in each request, so text of the conversation cannot hold the tag. */
export function tagOf(section: Section, mark: string): string {
  return `${section}-${mark}`;
}

const TAG = /<\s*(\/?)\s*([\p{L}][\p{L} _]{0,38}?)\s*(?:-\s*(\w{1,16})\s*)?>/giu;

/** Removes the tags around sections, so that only the text counts that the model wrote. */
export function withoutTags(text: string, mark: string): string {
  return text.replace(TAG, (tag, _, name: string, given?: string) =>
    given === mark && sectionNamed(name) !== undefined ? '' : tag,
  );
}

/**
 * Reads the sections of a model's answer. If the answer has the tags of its request, only these tags open and close
 * sections. Otherwise headings, plain tags or the keys of a JSON object name them, in one of ten languages. A heading
 * that stands in the conversation with the same text after it is a quotation. An answer with other headings is read as
 * the state of the work.
 */
export function readAnswerSections(text: string, mark: string, quoted: QuotedText): Sections {
  const marked = readMarked(text, mark);
  if (marked !== undefined) return marked;
  const plain = withoutFence(text);
  const object = readObject(plain);
  if (object !== undefined) return object;
  for (const findHeading of [findMarkedHeading, findLabel]) {
    const read = readHeadings(plain, findHeading, quoted);
    if (read.sections.size > 0) return read.sections;
    if (read.headings >= MIN_HEADINGS) return orderSections(new Map([['state', plain]]));
  }
  return new Map();
}

/** Headings that show that a text in another language is a summary and no answer to the conversation. */
const MIN_HEADINGS = 2;

function readMarked(text: string, mark: string): Sections | undefined {
  const bodies = new Map<Section, string>();
  let open: { readonly section: Section; readonly start: number } | undefined;
  const close = (end: number): void => {
    if (open === undefined) return;
    const body = text.slice(open.start, end);
    bodies.set(open.section, [bodies.get(open.section) ?? '', body].join('\n'));
    open = undefined;
  };
  for (const match of text.matchAll(TAG)) {
    const [tag, slash, name = '', given] = match;
    const section = given === mark ? ASKED_SECTIONS.find((asked) => asked === name.toLowerCase()) : undefined;
    if (section === undefined) continue;
    if (slash === '' || open?.section === section) close(match.index);
    if (slash === '') open = { section, start: match.index + tag.length };
  }
  const wasOpened = open !== undefined || bodies.size > 0;
  close(text.length);
  return wasOpened ? orderSections(mapBodies(bodies, withoutTagLines)) : undefined;
}

function mapBodies(bodies: ReadonlyMap<Section, string>, map: (body: string) => string): Map<Section, string> {
  return new Map([...bodies].map(([section, body]) => [section, map(body)]));
}

/** Leaves out lines that are only the tag of a section, which a model may add without its mark. */
function withoutTagLines(body: string): string {
  return body
    .split('\n')
    .filter((line) => !isTagLine(line))
    .join('\n');
}

function isTagLine(line: string): boolean {
  const name = /^<\/?([\p{L} _]{1,39})>$/u.exec(line.trim())?.[1];
  return name !== undefined && sectionNamed(name) !== undefined;
}

function withoutFence(text: string): string {
  return /^\s*```\w*\n([\s\S]*?)\n```\s*$/.exec(text)?.[1] ?? text;
}

function readObject(text: string): Sections | undefined {
  const value = parseObject(text);
  if (value === undefined) return undefined;
  const bodies = new Map<Section, string>();
  for (const [key, body] of Object.entries(value)) {
    const section = sectionNamed(key.replaceAll('_', ' '));
    if (section !== undefined) bodies.set(section, writeValue(body));
  }
  return bodies.size === 0 ? undefined : orderSections(bodies);
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  if (!text.trimStart().startsWith('{')) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isMapping(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function writeValue(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map((item) => `- ${writeValue(item)}`).join('\n');
  return value === null || value === undefined ? '' : JSON.stringify(value);
}

interface Heading {
  readonly name: string;
  /** Text behind the name in the same line. */
  readonly rest: string;
}

type HeadingFinder = (line: string) => Heading | undefined;

const MARKED_HEADINGS = [
  /^ {0,3}#{1,6}\s+(.{1,80}?)\s*#*$()/,
  /^\s*(?:\d{1,2}[.)、]\s*)?\*\*([^*]{1,80})\*\*\s*[:：]?\s*$()/,
  /^\s*【([^】]{1,40})】\s*(.*)$/,
  /^\s*<([\p{L}][\p{L} _]{0,38})>\s*(.*)$/u,
];

function findMarkedHeading(line: string): Heading | undefined {
  return matchAny(line, MARKED_HEADINGS);
}

/** A name before a colon, or in a numbered line: `**Goal:** Move`, `目标：`, `1. Goal`. */
const LABELS = [
  /^\s*(?:\d{1,2}[.)、]\s*)?\*\*([^*:：]{1,80})[:：]?\*\*\s*[:：]?\s*(.*)$/,
  /^\s*(?:\d{1,2}[.)、]\s*)?([^:：*#<>]{1,60})[:：]\s*(.*)$/,
  /^\s*\d{1,2}[.)、]\s*(.{1,60})$()/,
];

function findLabel(line: string): Heading | undefined {
  const label = findMarkedHeading(line) ?? matchAny(line, LABELS);
  return label !== undefined && (sectionNamed(label.name) ?? isCodeWritten(label.name)) ? label : undefined;
}

function matchAny(line: string, patterns: readonly RegExp[]): Heading | undefined {
  for (const pattern of patterns) {
    const [, name, rest = ''] = pattern.exec(line) ?? [];
    if (name !== undefined) return { name, rest };
  }
  return undefined;
}

/** @returns the sections, and the number of headings, also of those that name no section */
function readHeadings(
  text: string,
  findHeading: HeadingFinder,
  quoted: QuotedText,
): { readonly sections: Sections; readonly headings: number } {
  const bodies = new Map<Section, string[]>();
  let body: string[] = [];
  let headings = 0;
  const lines = text.split('\n');
  for (const [index, line] of lines.entries()) {
    const heading = findHeading(line);
    const section = heading && sectionNamed(heading.name);
    const follows = heading && [heading.rest, ...lines.slice(index + 1, index + 4)].find((next) => next.trim() !== '');
    if (heading === undefined || (section !== undefined && quoted.holdsSection(headOf(line, heading), follows ?? ''))) {
      const [, said = '', closed] = /^(.*?)(<\/[\p{L} _]{1,39}>)?\s*$/u.exec(line) ?? [];
      body.push(said);
      if (closed !== undefined) body = [];
      continue;
    }
    headings += 1;
    if (section === undefined) {
      if (isCodeWritten(heading.name)) body = [];
      else body.push(line);
      continue;
    }
    const [, rest = '', closed] = /^(.*?)(<\/[\p{L} _]{1,39}>)?\s*$/u.exec(heading.rest) ?? [];
    body = bodies.get(section) ?? [];
    bodies.set(section, body);
    if (rest !== '') body.push(rest);
    if (closed !== undefined) body = [];
  }
  return { sections: orderSections(new Map([...bodies].map(([name, said]) => [name, said.join('\n')]))), headings };
}

function headOf(line: string, { rest }: Heading): string {
  return rest === '' ? line : line.slice(0, line.lastIndexOf(rest));
}
