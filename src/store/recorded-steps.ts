import type { Redis } from 'ioredis';
import type { ConversationRef } from '../domain/ids.ts';
import type { StepRecord } from '../domain/turn.ts';
import type { Keyspace } from './keys.ts';
import { callStore, RecordFields } from './records.ts';
import { decodeStep } from './turn-record.ts';

const PREFIX = 's:';
const CLAIM_FIELDS = ['head', 'attempts', 'lease'] as const;

/** Claim of a turn by a worker. */
export interface TurnClaim {
  /** Claims since the last recorded step, this one included. */
  readonly attempts: number;
  /** End of the worker's lease in ms since epoch, by the clock of Redis. Absent after the worker has handed it back. */
  readonly leaseUntil?: number;
}

/** The records of a turn's steps, and the claim of the worker that runs the turn. */
export interface RecordedSteps {
  /** Records by the key of the step, markers of waits among them. */
  readonly steps: ReadonlyMap<string, StepRecord>;
  /** Present while the turn is the first of its conversation and a worker has claimed it. */
  readonly claim?: TurnClaim;
}

/** Opens the progress of turns, which people read. */
export function openStepReader(redis: Redis, keyspace: Keyspace) {
  return {
    /** @returns undefined if the turn does not exist */
    readSteps: async (conversation: ConversationRef, turn: string): Promise<RecordedSteps | undefined> => {
      const key = keyspace.turn(conversation, turn);
      // Answers of services lie in the same hash and may be large, so the records are read by their names.
      const names = await callStore(() => redis.hkeys(key));
      if (names.length === 0) return undefined;
      const wanted = ['state', ...names.filter((name) => name.startsWith(PREFIX))];
      const [c, mb] = [keyspace.key(conversation, 'c'), keyspace.key(conversation, 'mb')];
      const [values, facts, first] = await callStore(() =>
        Promise.all([redis.hmget(key, ...wanted), redis.hmget(c, ...CLAIM_FIELDS), redis.lindex(mb, 0)]),
      );
      const fields = RecordFields.ofValues(key, wanted, values);
      const record = RecordFields.ofValues(c, CLAIM_FIELDS, facts);
      const head = record.count('head') ?? 0;
      const attempts = first === turn ? (record.count('attempts') ?? 0) : 0;
      const leaseUntil = record.count('lease');
      return {
        steps: new Map(
          fields
            .withPrefix(PREFIX)
            .map(([step, text]) => [step, decodeStep(fields, { key: step, record: text, head })]),
        ),
        ...(attempts > 0 && { claim: { attempts, ...(leaseUntil !== undefined && { leaseUntil }) } }),
      };
    },
  };
}

export type StepReader = ReturnType<typeof openStepReader>;
