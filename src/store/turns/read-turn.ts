import type { Redis } from 'ioredis';
import type { ConversationRef } from '../../domain/ids.ts';
import type { TurnView } from '../../domain/turn.ts';
import { callStore } from '../corrupt-record.ts';
import type { Keyspace } from '../keys.ts';
import { decodeLogEntry } from '../log-entry.ts';
import { RecordFields } from '../record-fields.ts';
import { decodeTurnView, readAnswerSeq, VIEW_FIELDS } from './turn-record.ts';

/** Two reads without a script: a settled turn and the log entry of its answer never change. */
export async function readTurn(
  redis: Redis,
  keyspace: Keyspace,
  conversation: ConversationRef,
  turn: string,
): Promise<TurnView | undefined> {
  const key = keyspace.turn(conversation, turn);
  const fields = RecordFields.ofValues(key, VIEW_FIELDS, await callStore(() => redis.hmget(key, ...VIEW_FIELDS)));
  if (fields.isEmpty) return undefined;
  const seq = readAnswerSeq(fields);
  const log = keyspace.key(conversation, 'log');
  const entry = seq === undefined ? null : await callStore(() => redis.hget(log, String(seq)));
  // Erased between the two reads.
  if (seq !== undefined && entry === null) return undefined;
  const answer = entry === null ? undefined : decodeLogEntry(seq ?? 0, entry, log).message.content;
  return decodeTurnView(turn, fields, answer);
}
