import type { Message } from '../../domain/message.ts';

interface Outcome {
  /** `ok`, `error`, or the status that the result states: `exit code 1`. */
  readonly status: string;
  /** Line that states the error of a failed call, or the first line of any other call. May be empty. */
  readonly line: string;
}

/** Characters that are read at each end of a longer result, because a result may have 1 MiB. */
const END_CHARS = 16_384;
const MEANING = /[\p{L}\p{N}]{2}/u;
const TAG_LINE = /^<[^>]{1,200}>$/;
const CODE_LINE = /^<?(?:exit[ _]?|return ?|status[ _]?)code\W{0,3}\d{1,3}(?:<.{1,20})?$/i;
/** Start of a failed result that was not marked as an error. */
const ERROR_START = /^\s{0,8}(?:error|fatal|traceback|exception)\b/i;

const NAME = 'exit(?:ed)?(?:[ _](?:with|code|status))*|return[ _]?code|status(?:[ _]code)?';
/** Status at the start of a line: `<returncode>1`, `{"status": 404`, `Exit code: 1`, `Command exited with code 2`. */
const STATED = `^\\W{0,4}(?:(?:command|process|program|script) )?(${NAME})\\W{1,4}(\\d{1,3})\\b`;
const AT_HEAD = new RegExp(STATED, 'i');
const AT_TAIL = new RegExp(`${STATED}\\W{0,4}$`, 'i');
/** Status in a tag: `<shell_output command="make" exit_code="101">`. */
const IN_TAG = new RegExp(`^\\s*<[\\w:-]+(?:\\s+[\\w:-]+="[^"]*")*?\\s+(${NAME})="(\\d{1,3})"`, 'i');

export function readOutcome({ content, isError = false }: Pick<Message, 'content' | 'isError'>): Outcome {
  const lines = readEnds(content).split('\n');
  const stated = readStatus(content, lines);
  const hasFailed = isError || ERROR_START.test(content);
  const line = hasFailed || stated !== undefined ? findError(lines) : lines.find(isMeaningful);
  return { status: stated ?? (hasFailed ? 'error' : 'ok'), line: line?.trim() ?? '' };
}

/** The last line without indentation states the error. Indented lines are its details, such as frames of a stack. */
function findError(lines: readonly string[]): string | undefined {
  return lines.findLast((line) => isMeaningful(line) && !/^\s/.test(line)) ?? lines.findLast(isMeaningful);
}

/**
 * Reads a status from the first tag, first line or last line. A code elsewhere is text, as in a log. 0 means success.
 */
function readStatus(content: string, lines: readonly string[]): string | undefined {
  const first = lines.find((line) => line.trim() !== '') ?? '';
  const last = lines.findLast((line) => line.trim() !== '') ?? '';
  const found = IN_TAG.exec(content.slice(0, END_CHARS)) ?? AT_HEAD.exec(first.trim()) ?? AT_TAIL.exec(last.trim());
  const [, name, code] = found ?? [];
  return name === undefined || Number(code) === 0 ? undefined : `${name} ${code}`;
}

function readEnds(text: string): string {
  if (text.length <= 2 * END_CHARS) return text;
  const head = text.slice(0, END_CHARS);
  const tail = text.slice(-END_CHARS);
  return head.slice(0, head.lastIndexOf('\n') + 1) + tail.slice(tail.indexOf('\n') + 1);
}

/** False for a line of punctuation, a lone tag, or a wrapped exit code. */
function isMeaningful(line: string): boolean {
  const trimmed = line.trim();
  return MEANING.test(trimmed) && !TAG_LINE.test(trimmed) && !CODE_LINE.test(trimmed);
}
