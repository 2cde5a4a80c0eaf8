import { MAX_MESSAGE_BYTES } from '../domain/message.ts';
import type { PieceBatch } from '../domain/ports/turn-streams.ts';
import type { MemoryConversation, MemoryDatabase } from './database.ts';
import { appendToLog } from './log.ts';
import { steeredTurns } from './mailbox.ts';
import type { MemoryTurn } from './turn-record.ts';

const GAP = '…';

/**
 * Puts the text that readers of a canceled turn have seen into the log, as `keep_streamed_text` of `lua/shared/stopped.lua`
 * does in Redis.
 */
export function keepStreamedText(db: MemoryDatabase, conversation: MemoryConversation, record: MemoryTurn): void {
  const texts = collectTexts(conversation, record.turn);
  const [first] = texts;
  if (first === undefined) return;
  let content = first.at > 0 ? GAP : '';
  let tokens = first.at > 0 ? 1 : 0;
  for (const { text, textTokens } of texts) {
    if (Buffer.byteLength(content + text) > MAX_MESSAGE_BYTES) break;
    content += text;
    tokens += textTokens;
  }
  // The blanks of Lua.
  if (!/[^ \t-\r]/.test(content)) return;
  const message = { role: 'assistant' as const, content, stopped: true };
  const weighed = { message, tokens, bytes: Buffer.byteLength(content) };
  const stoppedSeq = appendToLog(conversation, [weighed], db.now(), record.turn);
  for (const settled of [record, ...steeredTurns(conversation)]) settled.stoppedSeq = stoppedSeq;
}

interface CountedText extends Required<Pick<PieceBatch, 'textTokens'>> {
  readonly text: string;
  readonly at: number;
}

function collectTexts({ log, streams }: MemoryConversation, turn: string): CountedText[] {
  const batches = (streams.get(turn)?.entries ?? []).flatMap((entry) => ('batch' in entry ? [entry.batch] : []));
  const last = batches.at(-1);
  if (last?.seq !== log.length + 1) return [];
  const isOfCall = ({ epoch, attempt }: PieceBatch): boolean => epoch === last.epoch && attempt === last.attempt;
  const texts: CountedText[] = [];
  for (const { pieces, textTokens } of batches.filter(isOfCall)) {
    const piece = pieces.find(({ kind }) => kind === 'text');
    if (piece?.kind !== 'text') continue;
    if (textTokens === undefined) return [];
    // A worker may send a batch again, with further text.
    while ((texts.at(-1)?.at ?? -1) >= piece.at) texts.pop();
    texts.push({ text: piece.text, at: piece.at, textTokens });
  }
  return texts;
}
