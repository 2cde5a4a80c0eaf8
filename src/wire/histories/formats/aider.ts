import { type FileRecord, type ForeignConversation, ForeignMessages, type HistoryFormat } from './format.ts';

const SESSION = /^# aider chat started at (.+)$/m;

/** Reads `.aider.chat.history.md`, with a heading for each session. */
export const aider: HistoryFormat = {
  name: 'aider',
  title: 'a chat history of aider',
  recognizes: ([first]) => typeof first?.value === 'string' && SESSION.test(first.value),
  read: ([first]) => readSessions(first),
};

const USER_LINE = /^####(?: |$)/;

/**
 * A line of the user as aider's `append_chat_history` writes it. The two spaces at its end, a line break of Markdown,
 * tell it from a heading in an answer.
 */
const BROKEN_USER_LINE = /^####(?: .*)? {2}$/;

function readSessions(record: FileRecord | undefined): ForeignConversation[] {
  const lines = typeof record?.value === 'string' ? record.value.split(/\r?\n/) : [];
  const sessions: Session[] = [{ id: 'aider', lines: [] }];
  for (const [index, text] of lines.entries()) {
    const started = SESSION.exec(text)?.[1];
    if (started !== undefined) sessions.push({ id: `aider-${started.trim()}`, lines: [] });
    else sessions.at(-1)?.lines.push({ text, at: `line ${index + 1}` });
  }
  return sessions.map(readSession).filter(({ messages }) => messages.length > 0);
}

interface Session {
  readonly id: string;
  readonly lines: { readonly text: string; readonly at: string }[];
}

function readSession({ id, lines }: Session): ForeignConversation {
  // An editor may have removed spaces at line ends. Then each heading of this level is a line of the user.
  const userLine = lines.some(({ text }) => BROKEN_USER_LINE.test(text)) ? BROKEN_USER_LINE : USER_LINE;
  const reader = new SessionReader(userLine);
  for (const { text, at } of lines) reader.enter(text, at);
  return reader.finish(id);
}

type Speaker = 'user' | 'assistant';

/** Reads one session. Lines by aider itself begin with `> `, answers have no mark. */
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
