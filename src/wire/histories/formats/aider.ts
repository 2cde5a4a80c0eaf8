import { type FileRecord, type ForeignConversation, ForeignMessages, type HistoryFormat } from './format.ts';

const SESSION = /^# aider chat started at (.+)$/m;

/** Reads `.aider.chat.history.md`, with a heading for each session. */
export const aider: HistoryFormat = {
  name: 'aider',
  title: 'a chat history of aider',
  recognizes: ([first]) => typeof first?.value === 'string' && SESSION.test(first.value),
  read: ([first]) => readSessions(first),
};

const USER_LINE = /^#### /;

/**
 * A line of the user as aider's `append_chat_history` writes it. The two spaces at its end, a line break of Markdown,
 * tell it from a heading in an answer.
 */
const BROKEN_USER_LINE = /^#### .* {2}$/;

function readSessions(record: FileRecord | undefined): ForeignConversation[] {
  const lines = typeof record?.value === 'string' ? record.value.split(/\r?\n/) : [];
  // An editor may have removed these spaces. Then each such heading counts as a line of the user.
  const userLine = lines.some((line) => BROKEN_USER_LINE.test(line)) ? BROKEN_USER_LINE : USER_LINE;
  const sessions = [{ id: 'aider', reader: new SessionReader(userLine) }];
  for (const [index, line] of lines.entries()) {
    const started = SESSION.exec(line)?.[1];
    if (started !== undefined) sessions.push({ id: `aider-${started.trim()}`, reader: new SessionReader(userLine) });
    else sessions.at(-1)?.reader.enter(line, `line ${index + 1}`);
  }
  return sessions.map(({ id, reader }) => reader.finish(id)).filter(({ messages }) => messages.length > 0);
}

type Speaker = 'user' | 'assistant';

/** Reads one session. Reports of aider begin with `> `, answers have no mark. */
class SessionReader {
  readonly #userLine: RegExp;
  readonly #messages = new ForeignMessages();
  #open: { readonly role: Speaker; readonly lines: string[]; readonly at: string } | undefined;

  constructor(userLine: RegExp) {
    this.#userLine = userLine;
  }

  enter(line: string, at: string): void {
    if (this.#userLine.test(line)) return this.#add('user', line.replace(USER_LINE, '').trimEnd(), at);
    if (line.startsWith('> ') || line === '>') return this.#messages.leaveOut('reports of aider', at);
    if (line.trim() === '' && this.#open?.role !== 'assistant') return;
    this.#add('assistant', line, at);
  }

  finish(id: string): ForeignConversation {
    this.#end();
    return this.#messages.finish(id);
  }

  #add(role: Speaker, line: string, at: string): void {
    if (this.#open?.role !== role) {
      this.#end();
      this.#open = { role, lines: [], at };
    }
    this.#open.lines.push(line);
  }

  #end(): void {
    if (this.#open === undefined) return;
    const { role, lines, at } = this.#open;
    const content = lines.join('\n').trim();
    if (content !== '') this.#messages.add({ role, content }, at);
    this.#open = undefined;
  }
}
