/** An answer of the recall tool, read as a careful model reads it. */
export interface RecallAnswer {
  readonly messages: readonly {
    /** Number of the message. 0 for a clipped result. */
    readonly seq: number;
    readonly author: string;
    readonly text: string;
  }[];
  /** The text after the messages. */
  readonly last: string;
  /** The call that continues, from the last line. */
  readonly next?: Readonly<Record<string, string | number>>;
}

/** Reads titles and the texts between their lines of backticks. */
export function readRecallAnswer(answer: string): RecallAnswer {
  const messages: RecallAnswer['messages'][number][] = [];
  const lines = answer.split('\n');
  let at = 0;
  for (; at < lines.length; at += 1) {
    const title = /^(?:message (\d+) \((.*)\)|clipped result)(?: from character \d+)?:( no text)?$/.exec(
      lines[at] ?? '',
    );
    if (title === null) break;
    const [, seq = '0', author = '', isEmpty] = title;
    const fence = isEmpty === undefined ? lines[at + 1] : undefined;
    const end = fence === undefined ? at : lines.indexOf(fence, at + 2);
    messages.push({ seq: Number(seq), author, text: fence === undefined ? '' : lines.slice(at + 2, end).join('\n') });
    at = end;
  }
  const last = lines.slice(at).join('\n');
  const given = [...last.matchAll(/\b(from|to|offset|ref): (\w+)/g)].map(
    ([, name = '', value = '']) => [name, name === 'ref' ? value : Number(value)] as const,
  );
  return { messages, last, ...(last.startsWith('Continue') && { next: Object.fromEntries(given) }) };
}
