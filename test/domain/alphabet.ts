import { type Context, contextOfLog } from '../../src/compaction/context.ts';
import { buildLog, type LogEntry, type Message, type Role, type WeighedMessage } from '../../src/domain/message.ts';
import { type SeqRange, START_VERSION } from '../../src/domain/version.ts';

/*
 * A history is written as one line of text, with a letter per message. Spaces are ignored, and `(ua)x14` repeats.
 *
 * - `s` system, `u` user, `a` assistant text, `S` summary
 * - `t` assistant with one tool call, `t{1,2}` with two named calls in parallel, `t3` with one named call
 * - `r` result of the oldest open call, `r2` result of call 2
 * - `a:300` size in tokens (default 10)
 * - `u!` pinned message, `a?` droppable message
 *
 * Texts have no term, so that no message is worth more than another. Calls differ, so that no result supersedes another.
 */
const REPEATED = /\(([^()]*)\)x(\d+)/g;
const LETTER = /([suatrS])(?:\{([\d,]+)\}|(\d+))?(?::(\d+))?([!?]*)/y;
const TOKENS = 10;

const ROLES: Readonly<Record<string, Role>> = {
  s: 'system',
  u: 'user',
  a: 'assistant',
  t: 'assistant',
  r: 'tool',
  S: 'summary',
};

interface Letter {
  readonly letter: string;
  readonly names: readonly string[];
  readonly tokens: number;
  readonly flags: string;
}

export function messagesOf(line: string): WeighedMessage[] {
  /** Calls without a result, oldest first. */
  const open: { id: string; name: string | undefined }[] = [];
  return readLetters(line).map(({ letter, names, tokens, flags }, index) => {
    const seq = index + 1;
    const message: Message = { role: ROLES[letter] as Role, content: `${letter} ${String(seq).split('').join(' ')}` };
    if (flags.includes('!')) message.pinned = true;
    if (flags.includes('?')) message.droppable = true;
    if (letter === 'S') message.summary = { from: seq, to: seq };
    if (letter === 't') {
      const calls = (names.length === 0 ? [undefined] : names).map((name, at) => ({ id: `c${seq}_${at}`, name }));
      open.push(...calls);
      message.toolCalls = calls.map(({ id }) => ({ id, name: 'do', arguments: `{"n":${seq}}` }));
    }
    if (letter === 'r') {
      const found = names.length === 0 ? 0 : open.findIndex((call) => call.name === names[0]);
      const [call] = open.splice(found, found === -1 ? 0 : 1);
      if (call === undefined) throw new Error(`${line}: message ${seq} answers no open call`);
      message.toolCallId = call.id;
    }
    return { message, tokens, bytes: tokens * 4 };
  });
}

/** The letters alone, one per message. */
export function lettersOf(line: string): string {
  return readLetters(line)
    .map(({ letter }) => letter)
    .join('');
}

export function logOf(line: string): LogEntry[] {
  return buildLog(messagesOf(line));
}

/** The context of a conversation with these messages that was never compacted. */
export function contextOf(line: string): Context {
  return contextOfLog(logOf(line), START_VERSION);
}

/**
 * Writes the line with `.` for evicted messages, and with a digit for messages of the first, second, … summarized
 * range.
 */
export function maskLine(line: string, evicted: readonly SeqRange[], sequences: readonly SeqRange[]): string {
  const letters = lettersOf(line).split('');
  const paint = ({ from, to }: SeqRange, mark: string): void => {
    letters.fill(mark, from - 1, to);
  };
  evicted.forEach((range) => paint(range, '.'));
  sequences.forEach((range, index) => paint(range, String(index + 1)));
  return letters.join('');
}

function readLetters(line: string): Letter[] {
  const text = line
    .replace(REPEATED, (_, part: string, times: string) => part.repeat(Number(times)))
    .replace(/\s/g, '');
  const letters: Letter[] = [];
  LETTER.lastIndex = 0;
  while (LETTER.lastIndex < text.length) {
    const at = LETTER.lastIndex;
    const match = LETTER.exec(text);
    if (match === null) throw new Error(`${line}: no letter of the alphabet at "${text.slice(at)}"`);
    const [, letter = '', several, one, tokens, flags = ''] = match;
    const names = several?.split(',') ?? (one === undefined ? [] : [one]);
    letters.push({ letter, names, tokens: Number(tokens ?? TOKENS), flags });
  }
  return letters;
}
