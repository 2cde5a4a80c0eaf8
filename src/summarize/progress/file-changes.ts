import { listPatchedFiles, listValues, readArguments } from '../../compaction/evidence/call-values.ts';
import type { ToolCall } from '../../domain/message.ts';

/** A file that a call changed. */
export interface FileChange {
  readonly path: string;
  /** Tool, or program of a command line: `edit`, `sed -i`, `cat >`. */
  readonly by: string;
}

const EDITING_NAME = /edit|write|create|replace|insert|patch|update|delete|remove|rename|move/i;
const LIST_NAME = /todo|plan|memory|task|note/i;
const PATH_KEY = /path|file/i;
/** Names of arguments that hold what is written into a file. */
const TEXT_KEY = /content|text|replace|new_|old_|insert|diff|patch/i;
const COMMAND_KEY = /^(?:command|cmd|argv|script|code|input)$/i;
const MAX_PATH_CHARS = 200;

/** Lists the files that a call changes by its arguments, in order. A failed call of an editing tool changed nothing. */
export function listChanges(call: ToolCall, hasFailed: boolean): FileChange[] {
  const values = listValues(readArguments(call));
  const patched = listPatchedFiles(values);
  if (patched.length > 0) return hasFailed ? [] : patched.map((path) => ({ path, by: call.name }));
  const commands = values.filter(({ key }) => COMMAND_KEY.test(key));
  const changed = commands.flatMap(({ text }) => listShellChanges(text));
  if (changed.length > 0) return changed;
  const path = values.find(({ key, text }) => PATH_KEY.test(key) && isPath(text))?.text.trim();
  if (path === undefined || hasFailed || LIST_NAME.test(call.name)) return [];
  const writes = EDITING_NAME.test(call.name) || values.some(({ key }) => TEXT_KEY.test(key) && !PATH_KEY.test(key));
  return writes ? [{ path, by: call.name }] : [];
}

function isPath(text: string): boolean {
  return text.length <= MAX_PATH_CHARS && !text.includes('\n') && /[^\s./]/.test(text);
}

/** Start of a text that a command line passes to a program: `<<'EOF'`. Its lines follow until the line `EOF`. */
const HERE_TEXT = /(?<!<)<<(?!<)-?\s*['"]?([A-Za-z_]\w*)['"]?/;
/** Quoted texts. An open quote ends with the command. */
const QUOTED = /'[^']*(?:'|$)|"(?:\\[^]|[^"\\])*\\?(?:"|$)/g;
/** A quoted name. */
const PLAIN_QUOTE = /^.[\w./~@%+:-]+.$/;
/** Stands for a quoted text that is no name. */
const TEXT = '\u0000';
/** Commands of a line, divided where a shell divides them. `2>&1` divides nothing. */
const BETWEEN_COMMANDS = /\d?>&\d?|[;|\n]+|&&/;
const TO_FILE = /(?:^|\s)(\d*)>{1,2}\s*([^\s<>()]+)/g;
const NAME = /^[\w.~/@%+-][\w.~/@%+:-]*$/;
const WORD = /[\w/]/;
const PREFIX = /^(?:sudo|time|env|then|do|\w+=\S*)$/;

function listShellChanges(command: string): FileChange[] {
  if (!/[>]|\b(?:sed|perl|tee|mv|cp|rm|touch|git|patch)\b/.test(command)) return [];
  const line = leaveOutTexts(command).replace(QUOTED, (quoted) =>
    PLAIN_QUOTE.test(quoted) ? quoted.slice(1, -1) : TEXT,
  );
  return line.split(BETWEEN_COMMANDS).flatMap((part) => listCommandChanges(part.trim()));
}

function leaveOutTexts(command: string): string {
  const lines: string[] = [];
  let end: string | undefined;
  for (const line of command.split('\n')) {
    if (end === undefined) {
      end = HERE_TEXT.exec(line)?.[1];
      lines.push(line.replace(HERE_TEXT, ' '));
    } else if (line.trim() === end) end = undefined;
  }
  return lines.join('\n');
}

function listCommandChanges(command: string): FileChange[] {
  const words = command
    .replace(TO_FILE, ' ')
    .split(/\s+/)
    .filter((word) => word !== '');
  while (PREFIX.test(words[0] ?? '')) words.shift();
  const [program = '', ...given] = words;
  const written = [...command.matchAll(TO_FILE)]
    .filter(([, stream = '', path = '']) => (stream === '' || stream === '1') && isFileName(path))
    .map(([, , path = '']) => ({ path, by: `${isFileName(program) ? program : ''} >`.trim() }));
  return [...written, ...listProgramChanges(program, given)];
}

function by(label: string, paths: readonly string[]): FileChange[] {
  return paths.map((path) => ({ path, by: label }));
}

function listProgramChanges(program: string, given: readonly string[]): FileChange[] {
  const names = given.filter((word) => !word.startsWith('-') && isFileName(word));
  const flags = given.filter((word) => word.startsWith('-')).join(' ');
  switch (program) {
    case 'sed':
    case 'perl':
      // Without a quoted script, the first word is the script.
      return /(?:^|\s)-\w*i|--in-place/.test(flags)
        ? by(`${program} -i`, given.includes(TEXT) ? names : names.slice(1))
        : [];
    case 'tee':
    case 'touch':
    case 'rm':
      return by(program, names);
    case 'cp':
    case 'mv':
      return by(program, names.slice(-1));
    case 'git': {
      const [verb = ''] = given;
      const restores = /^(?:checkout|restore)$/.test(verb);
      return restores
        ? by(
            `git ${verb}`,
            names.slice(1).filter((name) => /[./]/.test(name)),
          )
        : [];
    }
    default:
      return [];
  }
}

function isFileName(word: string): boolean {
  return isName(word) && !word.startsWith('/dev/') && word.length <= MAX_PATH_CHARS && !/^[\d.,:/]+$/.test(word);
}

function isName(word: string): boolean {
  return NAME.test(word) && WORD.test(word);
}
