import { takeEnds } from './text.ts';

/** What a result says of how its call ended, in its own words: `exit code 1`, `returncode 2`, `status 404`. */
interface ResultStatus {
  readonly name: string;
  readonly code: number;
}

const NAME = 'exit(?:ed)?(?:[ _](?:with|code|status))*|return[ _]?code|status(?:[ _]code)?';
/** `<returncode>1`, `{"status": 404`, `Exit code: 1`, `Command exited with code 2`; nothing before it but that. */
const STATED = `^\\W{0,4}(?:(?:command|process|program|script) )?(${NAME})\\W{1,4}(\\d{1,3})\\b`;
const AT_HEAD = new RegExp(STATED, 'i');
const AT_TAIL = new RegExp(`${STATED}\\W{0,4}$`, 'i');
/** `<shell_output command="make" exit_code="101">`: the tag that a result is wrapped in. */
const OPENING_TAG = /^\s*<[\w:-]+((?:\s+[\w:-]+="[^"]*")+)\s*>/;
const ATTRIBUTE = /(?<![\w:-])([\w:-]+)="([^"]*)"/g;
const ATTRIBUTE_NAME = new RegExp(`^(?:${NAME})$`, 'i');

/**
 * Read from where a tool states it: the tag around a result, its first line or its last. A code anywhere else stands in what
 * was read, a log for one, and is no outcome of the call that read it.
 * @returns undefined where it says nothing, or 0
 */
export function readStatus(content: string): ResultStatus | undefined {
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
