import { readJsonText } from '../../domain/json-text.ts';
import type { ModelAnswer } from '../../domain/model.ts';
import { isMapping } from '../../domain/parse.ts';
import { ASKED_SECTIONS, isCodeWritten, orderSections, type Section, type Sections, sectionNamed } from './sections.ts';

/**
 * Tag of a section, e.g. `goal-k3f9`. The mark is new in each request, so that the conversation cannot hold the tag.
 */
export function tagOf(section: Section, mark: string): string {
  return `${section}-${mark}`;
}

const TAG = /<(\/?)([\p{L}_ ]{1,39})(?:-(\w{1,16}))?>/giu;

/** Removes the tags of an answer, so that only the model's text counts. */
export function withoutTags(text: string, mark: string): string {
  return text.replace(TAG, (tag, _, name: string, given?: string) =>
    given === mark && sectionNamed(name) !== undefined ? '' : tag,
  );
}

/**
 * Reads an answer by the tags of its request. Without tags, headings, plain tags or JSON keys name the sections, in one
 * of ten languages. An answer with other headings is read as the state of the work.
 */
export function readAnswerSections(text: string, mark: string): Sections {
  const marked = readMarked(text, mark);
  if (marked !== undefined) return marked;
  const plain = withoutFence(text);
  const object = readObject(plain);
  if (object !== undefined) return object;
  for (const findHeading of [findMarkedHeading, findLabel]) {
    const read = readHeadings(plain, findHeading);
    if (read.sections.size > 0) return read.sections;
    if (read.headings >= MIN_HEADINGS) return orderSections(new Map([['state', plain]]));
  }
  return new Map();
}

/**
 * Minimum headings of a summary in another language. A text with fewer headings may be an answer to the conversation.
 */
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
    const section = given === mark ? ASKED_SECTIONS.find((asked) => asked === name.trim().toLowerCase()) : undefined;
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

/** Removes lines with a tag, because a model may add a tag without its mark. */
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
  const said = text.trim();
  const [start, end] = [said.indexOf('\n'), said.lastIndexOf('\n')];
  return said.startsWith('```') && said.slice(end).trim() === '```' && start < end ? said.slice(start + 1, end) : text;
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
  const value = readJsonText(text);
  return isMapping(value) ? value : undefined;
}

function writeValue(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map((item) => `- ${writeValue(item)}`).join('\n');
  return value === null || value === undefined ? '' : JSON.stringify(value);
}

interface Heading {
  readonly name: string;
  readonly rest: string;
}

type HeadingFinder = (line: string) => Heading | undefined;

const MAX_NAME_CHARS = 80;
const NUMBER = /^\d{1,2}[.)、]/;

/** Finds a heading with a mark: `## Goal`, `**Goal:**`, `1. **Goal**`, `【目标】 …`, `<goal>…` */
function findMarkedHeading(line: string): Heading | undefined {
  const said = line.trim();
  if (said.startsWith('#')) return { name: said.slice(0, MAX_NAME_CHARS), rest: '' };
  const open = /^<[\p{L}_ ]{1,39}>/u.exec(said)?.[0];
  if (open !== undefined) return { name: open, rest: said.slice(open.length).trim() };
  if (said.startsWith('【')) return splitAt(said, '】');
  const bold = findBold(said);
  return bold !== undefined && /^[:：]?$/.test(bold.rest) ? { ...bold, rest: '' } : undefined;
}

function findBold(said: string): Heading | undefined {
  const plain = said.replace(NUMBER, '').trim();
  if (!plain.startsWith('**')) return undefined;
  const found = splitAt(plain.slice(2), '**');
  return found && { name: found.name, rest: found.rest };
}

/** Finds a name before a colon, or in a numbered line: `**Goal:** Move`, `目标：`, `1. Goal`. */
function findLabel(line: string): Heading | undefined {
  const said = line.trim();
  const plain = said.replace(NUMBER, '').trim();
  const bold = findBold(said);
  const candidates = [
    findMarkedHeading(line),
    bold && { ...bold, rest: bold.rest.replace(/^[:：]/, '').trim() },
    splitAt(plain, ':'),
    splitAt(plain, '：'),
    plain === said ? undefined : { name: plain.slice(0, MAX_NAME_CHARS), rest: '' },
  ];
  return candidates.find((label) => label && (sectionNamed(label.name) !== undefined || isCodeWritten(label.name)));
}

function splitAt(said: string, mark: string): Heading | undefined {
  const at = said.indexOf(mark);
  return at < 1 || at > MAX_NAME_CHARS
    ? undefined
    : { name: said.slice(0, at), rest: said.slice(at + mark.length).trim() };
}

function splitClosing(line: string): { readonly said: string; readonly isClosed: boolean } {
  const said = line.trimEnd();
  const at = said.lastIndexOf('</');
  const isClosed = at !== -1 && /^<\/[\p{L} _]{1,39}>$/u.test(said.slice(at));
  return { said: isClosed ? said.slice(0, at) : line, isClosed };
}

function readHeadings(
  text: string,
  findHeading: HeadingFinder,
): { readonly sections: Sections; readonly headings: number } {
  const bodies = new Map<Section, string[]>();
  let body: string[] = [];
  let headings = 0;
  for (const line of text.split('\n')) {
    const heading = findHeading(line);
    const section = heading && sectionNamed(heading.name);
    if (heading === undefined) {
      const { said, isClosed } = splitClosing(line);
      body.push(said);
      if (isClosed) body = [];
      continue;
    }
    headings += 1;
    if (section === undefined) {
      if (isCodeWritten(heading.name)) body = [];
      else body.push(line);
      continue;
    }
    const { said, isClosed } = splitClosing(heading.rest);
    body = bodies.get(section) ?? [];
    bodies.set(section, body);
    if (said !== '') body.push(said);
    if (isClosed) body = [];
  }
  return { sections: orderSections(new Map([...bodies].map(([name, said]) => [name, said.join('\n')]))), headings };
}

/** Maximum characters of a refusal. A longer text may begin like a refusal: "I cannot log in" is a user's goal. */
const MAX_REFUSAL_CHARS = 400;
const TASK = '(?:help|assist|summari[sz]e|comply|provide|process|continue|write|create|do (?:that|this|so))';
const REFUSALS = [
  new RegExp(
    `\\bI(?:['’]m| am)? ?(?:can(?:not|['’]t| not)|won['’]t|will not|(?:not able|unable) to) (?:\\w+ )?${TASK}\\b`,
    'i',
  ),
  /^(?:I['’]m|I am) (?:very )?sorry\b|^sorry,|^as an AI\b/i,
  /^(?:es )?tut mir leid\b|^ich kann (?:dabei|dir|ihnen|das|diese\w*|leider) .*nicht\b/i,
  /^(?:je suis )?désolée?\b|^je ne (?:peux|suis) pas\b/i,
  /^lo siento\b|^no puedo (?:ayudar|resumir|continuar|hacer|proporcionar)/i,
  /^(?:desculpe|sinto muito)\b|^não posso (?:ajudar|resumir|continuar)/i,
  /^(?:很?抱歉|对不起|對不起|我(?:无法|無法|不能))/,
  /^(?:申し訳|すみません)/,
];

export function findAnswerFault(
  { content, toolCalls, end }: ModelAnswer,
  answerTokens: number,
  sourceTokens: number,
): string | undefined {
  if (toolCalls.length > 0) return 'the model called a tool instead of writing a summary';
  if (end === 'cut_off') return 'the summary was cut off at the output limit';
  if (end === 'refusal' || isRefusal(content)) return 'the model declined to write a summary';
  if (content.trim() === '') return 'the summary is empty';
  if (answerTokens >= sourceTokens)
    return `the summary has ${answerTokens} tokens, and the messages only ${sourceTokens}`;
  return undefined;
}

function isRefusal(text: string): boolean {
  const said = text.replace(/^[#*].*$/gm, '').trim();
  return said.length <= MAX_REFUSAL_CHARS && REFUSALS.some((pattern) => pattern.test(said));
}
