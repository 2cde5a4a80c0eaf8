import { type Argument, foldValue, renderArguments } from './call-arguments.ts';
import type { Line } from './outline.ts';
import { clipCharacters, foldLine, takeEnds } from './text.ts';

/** All calls of one tool with the same arguments. */
export interface CallRecord {
  readonly name: string;
  readonly arguments: readonly Argument[];
  count: number;
  /** Index of the last message that holds this call or its result. */
  position: number;
  /** Result of the last of these calls. Absent while that call is open. */
  result?: { readonly content: string; readonly isError: boolean };
}

/** The parts of a rendered call. Call lines of earlier summaries are parsed into this form. */
interface CallLine {
  readonly head: string;
  readonly count: number;
  readonly outcome: string;
}

const ARROW = ' → ';
const COUNT = / ×(\d{1,6})$/;
/** Replacements for the separators of a call line, because its arguments may hold the same signs. */
const PLAIN_SIGNS: Readonly<Record<string, string>> = { '→': '->', ' ×': ' x' };
const SIGNS = /→| ×/g;
/** Share of a call line for the arguments. The outcome gets the rest. */
const ARGUMENTS_SHARE = 0.65;
const MIN_SNIPPET_CHARS = 16;

const TAG_LINE = /^<[^>]{1,200}>$/;
const CODE_LINE = /^<?(?:exit[ _]?|return ?|status[ _]?)code\W{0,3}\d{1,3}(?:<.{1,20})?$/i;
const MEANING = /[\p{L}\p{N}]{2}/u;

export function renderCall(call: CallRecord, maxChars: number): string {
  const budget = maxChars - call.name.length;
  const shown = renderArguments(call.arguments, Math.floor(budget * ARGUMENTS_SHARE));
  const head = (shown === '' ? call.name : `${call.name} ${shown}`).replace(
    SIGNS,
    (sign) => PLAIN_SIGNS[sign] as string,
  );
  return foldLine(joinCall({ head, count: call.count, outcome: renderOutcome(call.result, maxChars - head.length) }));
}

function renderOutcome(result: CallRecord['result'], maxChars: number): string {
  if (result === undefined) return 'no result';
  const text = takeEnds(result.content);
  const stated = readStatus(result.content);
  const size = `${result.isError ? 'error' : 'ok'} ${renderSize(result.content)}`;
  const facts = stated === undefined ? size : `${size} ${stated.name} ${stated.code}`;
  const room = maxChars - facts.length;
  if (result.isError || room < MIN_SNIPPET_CHARS) return facts;
  const said = meaningfulLines(text, room);
  return said === '' ? facts : `${facts}: ${said}`;
}

function meaningfulLines(text: string, maxChars: number): string {
  let said = '';
  for (const line of text.split('\n')) {
    if (said.length >= maxChars) break;
    if (isMeaningful(line)) {
      said += `${said === '' ? '' : ' | '}${foldValue(line.trim(), maxChars)}`;
    }
  }
  return clipCharacters(said, maxChars);
}

/** Returns the last line with content, in which programs and tracebacks name the error. */
export function lastMeaningfulLine(text: string): string {
  return takeEnds(text).split('\n').findLast(isMeaningful) ?? '';
}

/** Returns false for a line of punctuation, a lone tag, or a wrapped exit code. */
function isMeaningful(line: string): boolean {
  const trimmed = line.trim();
  return MEANING.test(trimmed) && !TAG_LINE.test(trimmed) && !CODE_LINE.test(trimmed);
}

/**
 * Merges equal calls into one line with a count and the newest outcome, so that merging summaries twice does not double
 * them.
 */
export function mergeCallLines(lines: readonly Line[]): Line[] {
  const merged = new Map<string, Line & { call: CallLine }>();
  for (const line of lines) {
    const call = splitCall(line.text);
    const before = merged.get(call.head);
    merged.delete(call.head);
    merged.set(call.head, {
      ...line,
      call: before === undefined ? call : { ...call, count: before.call.count + call.count },
    });
  }
  return [...merged.values()].map(({ call, ...line }) => ({ ...line, text: joinCall(call) }));
}

function joinCall({ head, count, outcome }: CallLine): string {
  return `${head}${count > 1 ? ` ×${count}` : ''}${outcome === '' ? '' : ARROW + outcome}`;
}

function splitCall(text: string): CallLine {
  const arrow = text.indexOf(ARROW);
  const start = arrow === -1 ? text : text.slice(0, arrow);
  const count = COUNT.exec(start);
  return {
    head: start.replace(COUNT, ''),
    count: Number(count?.[1] ?? 1),
    outcome: arrow === -1 ? '' : text.slice(arrow + ARROW.length),
  };
}

function renderSize(text: string): string {
  const bytes = Buffer.byteLength(text);
  return bytes < 1024 ? `${bytes} B` : `${Math.round(bytes / 1024)} KB`;
}

/** Status that a result states: `exit code 1`, `returncode 2`, `status 404`. */
interface ResultStatus {
  readonly name: string;
  readonly code: number;
}

const NAME = 'exit(?:ed)?(?:[ _](?:with|code|status))*|return[ _]?code|status(?:[ _]code)?';
/** Matches `<returncode>1`, `{"status": 404`, `Exit code: 1`, `Command exited with code 2` at the start of a line. */
const STATED = `^\\W{0,4}(?:(?:command|process|program|script) )?(${NAME})\\W{1,4}(\\d{1,3})\\b`;
const AT_HEAD = new RegExp(STATED, 'i');
const AT_TAIL = new RegExp(`${STATED}\\W{0,4}$`, 'i');
/** Matches a tag around a result: `<shell_output command="make" exit_code="101">`. */
const OPENING_TAG = /^\s*<[\w:-]+((?:\s+[\w:-]+="[^"]*")+)\s*>/;
const ATTRIBUTE = /(?<![\w:-])([\w:-]+)="([^"]*)"/g;
const ATTRIBUTE_NAME = new RegExp(`^(?:${NAME})$`, 'i');

/**
 * Reads the status from the tag around a result, its first line or its last line. A code elsewhere belongs to the text
 * that was read, such as a log.
 * @returns undefined if no status is stated, or it is 0
 */
function readStatus(content: string): ResultStatus | undefined {
  const text = takeEnds(content);
  const [name, code] = findInTag(text) ?? findInLines(text) ?? [];
  return name === undefined || Number(code) === 0 ? undefined : { name, code: Number(code) };
}

type Found = readonly [name: string, code: string];

function findInTag(text: string): Found | undefined {
  for (const [, name = '', value = ''] of OPENING_TAG.exec(text)?.[1]?.matchAll(ATTRIBUTE) ?? []) {
    if (ATTRIBUTE_NAME.test(name) && /^\d{1,3}$/.test(value)) return [name, value];
  }
  return undefined;
}

function findInLines(text: string): Found | undefined {
  const lines = text.trim().split('\n');
  const [, name, code] = AT_HEAD.exec(lines[0] ?? '') ?? AT_TAIL.exec(lines.at(-1) ?? '') ?? [];
  return name === undefined || code === undefined ? undefined : [name, code];
}
