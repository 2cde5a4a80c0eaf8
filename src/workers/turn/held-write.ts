import type { HeldWrite } from '../../domain/events.ts';
import { nameConversation } from '../../domain/ids.ts';
import { type HoldPorts, holdWrite } from '../hold-write.ts';
import type { LeaseKeeper } from './lease-keeper.ts';

export interface TurnHoldPorts extends HoldPorts {
  readonly keeper: LeaseKeeper;
}

/** Sends a write of a claimed turn, and repeats it while Redis takes no writes, until the lease is lost. Other calls go on. */
export async function holdTurnWrite<T>(ports: TurnHoldPorts, write: HeldWrite, send: () => Promise<T>): Promise<T> {
  const { lease, signal } = ports.keeper;
  const { conversation, turn } = lease;
  return await holdWrite(ports, { write, scope: { ...nameConversation(conversation), turn }, signal }, send);
}
