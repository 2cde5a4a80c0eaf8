import type { Redis } from 'ioredis';
import type { ConversationRef } from '../../domain/ids.ts';
import type { TurnView } from '../../domain/turn.ts';
import { callRedis } from '../connection.ts';
import type { Keyspace } from '../keys.ts';
import { decodeLogEntry } from '../log-entry.ts';
import { decodeTurnView, VIEW_FIELDS } from './turn-record.ts';

/** Two reads without a script: a settled turn and the log entry of its answer never change. */
export async function readTurn(
  redis: Redis,
  keyspace: Keyspace,
  conversation: ConversationRef,
  turn: string,
): Promise<TurnView | undefined> {
  return callRedis(async () => {
    const values = await redis.hmget(keyspace.turn(conversation, turn), ...VIEW_FIELDS);
    const fields = new Map<string, string>();
    VIEW_FIELDS.forEach((field, index) => {
      const value = values[index];
      if (value !== undefined && value !== null) fields.set(field, value);
    });
    if (!fields.has('state')) return undefined;
    const seq = fields.get('answerSeq')?.split(' ')[0];
    const entry = seq === undefined ? null : await redis.hget(keyspace.key(conversation, 'log'), seq);
    // Erased between the two reads.
    if (seq !== undefined && entry === null) return undefined;
    const answer = entry === null ? undefined : decodeLogEntry(Number(seq), entry).message.content;
    return decodeTurnView(turn, fields, answer);
  });
}
