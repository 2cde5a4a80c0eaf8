import type { Redis } from 'ioredis';
import type { RecordedSteps, StepReader } from '../domain/ports/recorded-steps.ts';
import type { Keyspace } from './keys.ts';
import { callStore, RecordFields } from './records.ts';
import { decodeStep } from './turn-record.ts';

const PREFIX = 's:';
const CLAIM_FIELDS = ['head', 'attempts', 'lease'] as const;

export function openStepReader(redis: Redis, keyspace: Keyspace): StepReader {
  return {
    readSteps: async (conversation, turn): Promise<RecordedSteps | undefined> => {
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
