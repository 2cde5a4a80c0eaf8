import { ForeignMessages } from './foreign-messages.ts';
import type { FileRecord, ForeignConversation, HistoryFormat } from './format.ts';

const SESSION = /^# aider chat started at (.+)$/m;

/** The file `.aider.chat.history.md` of aider, with a heading for each session. */
export const aider: HistoryFormat = {
  name: 'aider',
  title: 'a chat history of aider',
  recognizes: ([first]) => typeof first?.value === 'string' && SESSION.test(first.value),
  read: ([first]) => readSessions(first),
};

type Speaker = 'user' | 'assistant';

function readSessions(record: FileRecord | undefined): ForeignConversation[] {
  const text = typeof record?.value === 'string' ? record.value : '';
  // A file that was cut may begin in the middle of a session.
  const sessions = [{ id: 'aider', reader: new SessionReader() }];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const started = SESSION.exec(line)?.[1];
    if (started !== undefined) sessions.push({ id: `aider-${started.trim()}`, reader: new SessionReader() });
    else sessions.at(-1)?.reader.enter(line, `line ${index + 1}`);
  }
  return sessions.map(({ id, reader }) => reader.finish(id)).filter(({ messages }) => messages.length > 0);
}

/** Reads one session. Lines with `#### ` are of the user, and lines with `> ` are reports of aider. */
class SessionReader {
  readonly #messages = new ForeignMessages();
  #open: { readonly role: Speaker; readonly lines: string[]; readonly at: string } | undefined;

  enter(line: string, at: string): void {
    if (line.startsWith('#### ')) return this.#add('user', line.slice('#### '.length).trimEnd(), at);
    if (line.startsWith('> ') || line === '>') {
      this.#messages.leaveOut('reports of aider', at);
      return;
    }
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
