import type { DeferredWrite } from '../../domain/events.ts';
import { nameConversation } from '../../domain/ids.ts';
import { type DeferredWritePorts, deferWrite } from '../deferred-write.ts';
import type { LeaseKeeper } from './lease-keeper.ts';

export interface LeaseWritePorts extends DeferredWritePorts {
  readonly keeper: LeaseKeeper;
}

/** Sends a write of a claimed turn, and repeats it while Redis takes no writes, until the lease is lost. Other calls go on. */
export async function writeUnderLease<T>(
  ports: LeaseWritePorts,
  write: DeferredWrite,
  send: () => Promise<T>,
): Promise<T> {
  const { lease, signal } = ports.keeper;
  const { conversation, turn } = lease;
  return await deferWrite(ports, { write, scope: { ...nameConversation(conversation), turn }, signal }, send);
}
