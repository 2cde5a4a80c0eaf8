import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Message } from '../../domain/message.ts';
import type { SummaryRequest } from '../../domain/ports/summarizer.ts';
import type { KnownLiterals } from './known-literals.ts';
import { SequenceReader } from './sequence-reader.ts';

/** Reading so much takes about 5 ms; then the event loop has its turn. */
const SLICE_CHARS = 65_536;

/** @throws the signal's reason */
export async function readSequence(
  { messages, asked, signal }: Pick<SummaryRequest, 'messages' | 'asked' | 'signal'>,
  literals?: KnownLiterals,
): Promise<SequenceReader> {
  const reader = new SequenceReader(messages.length, literals);
  if (asked !== undefined) reader.readAsked(asked);
  let chars = 0;
  for (const [position, message] of messages.entries()) {
    chars += countChars(message);
    if (chars >= SLICE_CHARS) {
      await nextTurn();
      signal.throwIfAborted();
      chars = 0;
    }
    reader.read(message, position);
  }
  return reader;
}

function countChars({ content, toolCalls = [] }: Message): number {
  return toolCalls.reduce((sum, call) => sum + call.arguments.length, content.length);
}
