import type { StepReader } from '../domain/ports/recorded-steps.ts';
import type { MemoryDatabase } from './database.ts';

export function openMemoryStepReader(db: MemoryDatabase): StepReader {
  return {
    readSteps: async (ref, turn) => {
      const conversation = db.find(ref);
      const record = conversation?.turnRecords.get(turn);
      if (conversation === undefined || record === undefined) return undefined;
      const { attempts, leaseUntil, mailbox } = conversation;
      const isClaimed = mailbox[0] === turn && attempts > 0;
      return {
        steps: new Map(record.steps),
        ...(isClaimed && { claim: { attempts, ...(leaseUntil !== undefined && { leaseUntil }) } }),
      };
    },
  };
}
