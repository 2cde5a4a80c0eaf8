import { readJsonText } from '../../domain/json-text.ts';
import type { ToolCall } from '../../domain/message.ts';

export interface CallValue {
  /** Key of the value, or else the key of the nearest object or list around it. */
  readonly key: string;
  readonly text: string;
}

const PATCHED = /^(?:\*\*\* (?:Update|Add|Delete) File: |\*\*\* Move to: |\+\+\+ (?:b\/)?(?!\/dev\/null))([^\t\n]+)/gm;
const MAX_FILES = 8;
const SHELL = /^(?:.*\/)?(?:ba|z|da|k|fi)?sh$|^(?:cmd|powershell|pwsh)(?:\.exe)?$/i;
const SHELL_FLAG = /^-[a-z]*c$|^\/c$|^-command$/i;
/** Keys under which a command may be a list of words. */
const COMMAND_KEY = /^(?:command|cmd|argv)$/i;
const NEEDS_QUOTES = /[\s"'$&|;<>()*?\\]/;

export function readArguments({ arguments: given }: Pick<ToolCall, 'arguments'>): unknown {
  const value = readJsonText(given);
  return value === undefined ? given : value;
}

/** Lists the values of a call. A command in words becomes one line. Recursion would fail at deep nesting. */
export function listValues(root: unknown, limit = Number.POSITIVE_INFINITY): CallValue[] {
  const values: CallValue[] = [];
  const open: { readonly entries: readonly (readonly [string, unknown])[]; next: number }[] = [
    { entries: [['', root]], next: 0 },
  ];
  for (let parent = open.at(-1); parent !== undefined && values.length < limit; parent = open.at(-1)) {
    const entry = parent.entries[parent.next];
    parent.next += 1;
    if (entry === undefined) {
      open.pop();
      continue;
    }
    const [key, value] = entry;
    const text = textOf(key, value);
    if (text !== undefined) values.push({ key, text });
    else if (Array.isArray(value)) open.push({ entries: value.map((item) => [key, item] as const), next: 0 });
    else if (typeof value === 'object' && value !== null) open.push({ entries: Object.entries(value), next: 0 });
  }
  return values;
}

function textOf(key: string, value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return Array.isArray(value) && value.every((word) => typeof word === 'string') ? commandLine(key, value) : undefined;
}

/** Joins the words of a command: `["bash", "-lc", "make test"]` is the command line `make test`. */
function commandLine(key: string, words: readonly string[]): string | undefined {
  const [program = '', flag = '', script] = words;
  if (words.length === 3 && script !== undefined && SHELL.test(program) && SHELL_FLAG.test(flag)) return script;
  if (!COMMAND_KEY.test(key) || words.length === 0) return undefined;
  return words.map((word) => (NEEDS_QUOTES.test(word) && !word.includes('\n') ? quote(word) : word)).join(' ');
}

function quote(word: string): string {
  return word.includes("'") ? `"${word}"` : `'${word}'`;
}

export function listPatchedFiles(values: readonly CallValue[]): string[] {
  const files = new Set<string>();
  for (const { text } of values) {
    if (!text.includes('\n')) continue;
    for (const [, file = ''] of text.matchAll(PATCHED)) if (files.size < MAX_FILES) files.add(file.trim());
  }
  return [...files];
}
