import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { Message } from '../../../src/domain/message.ts';

const folder = new URL('../../../../shared/traces/', import.meta.url);

export const hasTraces = existsSync(folder);

/**
 * A maximal run of assistant messages and results between user messages, which is the input of one summarization job.
 */
export interface TraceSequence {
  /** File name of the conversation without its extension. */
  readonly source: string;
  readonly userRequest: string | undefined;
  readonly messages: readonly Message[];
  /** Messages after the sequence. */
  readonly later: readonly Message[];
}

/** All sequences of at least two messages in the recorded conversations. */
export function readSequences(): TraceSequence[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .flatMap((name) =>
      readFileSync(new URL(name, folder), 'utf8')
        .split('\n')
        .filter(Boolean)
        .flatMap((line) => cutSequences((JSON.parse(line) as { messages: Message[] }).messages, name.slice(0, -6))),
    );
}

function cutSequences(messages: readonly Message[], source: string): TraceSequence[] {
  const sequences: TraceSequence[] = [];
  let userRequest: string | undefined;
  for (let start = 0; start < messages.length; ) {
    const { role, content } = messages[start] as Message;
    let end = start + 1;
    if (role === 'assistant') {
      while (end < messages.length && ['assistant', 'tool'].includes((messages[end] as Message).role)) end += 1;
      if (end - start >= 2) {
        sequences.push({ source, userRequest, messages: messages.slice(start, end), later: messages.slice(end) });
      }
    } else if (role === 'user') userRequest = content;
    start = end;
  }
  return sequences;
}
