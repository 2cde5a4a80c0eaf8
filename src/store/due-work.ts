import type { ConversationRef } from '../domain/ids.ts';
import { idleMember, readyMember, scheduledMember } from './keys.ts';
import { decodeReply, type ScriptDefinition } from './script.ts';

/** Work that the sweeper must look at now. `idle`: a conversation that possibly reached its idle TTL. */
export interface DueEntry {
  readonly kind: 'turn' | 'pass' | 'scheduled' | 'idle';
  readonly conversation: ConversationRef;
  readonly turn?: string;
}

const KINDS: Readonly<Record<string, DueEntry['kind']>> = { t: 'turn', p: 'pass', d: 'scheduled', r: 'idle' };

/**
 * Decodes a member of a set of due work: `t|tenant|id` (mailbox), `p|…` (pass), `r|…` (idle), `d|tenant|id|turn`
 * (scheduled turn). Ids contain no `|`.
 */
export function decodeDueEntry(member: string): DueEntry {
  const [letter = '', tenant = '', id = '', turn] = member.split('|');
  const kind = KINDS[letter];
  if (kind === undefined)
    throw new Error(
      `"${member}" must begin with t (turn), p (compaction pass), d (scheduled turn) or r (idle conversation)`,
    );
  return { kind, conversation: { tenant, id }, ...(turn !== undefined && { turn }) };
}

/** False for a malformed member of `ready`, which the sweep will quarantine. */
export function isDueEntry(member: string): boolean {
  return /^(([tp]\|[\w.-]+\|[\w.-]+)|(d\|[\w.-]+\|[\w.-]+\|[\w.-]+))$/.test(member);
}

type Kind = 'turn' | 'pass';

export type SweepDecision =
  /** No worker owns the work, and perhaps its queue job was lost. */
  | {
      readonly status: 'lapsed';
      readonly hadWorker: boolean;
      readonly recordedWake?: string;
    }
  | { readonly status: 'quiet' };

export const inspectScript: ScriptDefinition<[conversation: ConversationRef, kind: Kind], SweepDecision> = {
  file: 'inspect',
  args: ([, kind]) => ({ kind }),
  decode: (reply) =>
    decodeReply<SweepDecision>(reply, {
      lapsed: (recordedWake: string, hadWorker: number) => ({
        hadWorker: hadWorker === 1,
        ...(recordedWake !== '' && { recordedWake }),
      }),
    }),
};

export const recordWakeScript: ScriptDefinition<[conversation: ConversationRef, kind: Kind, wake: string], boolean> = {
  file: 'record-wake',
  args: ([, kind, wake]) => ({ kind, wake }),
  decode: (reply) => reply === 1,
};

export const promoteScheduledScript: ScriptDefinition<
  [conversation: ConversationRef, turn: string, wake: string],
  { readonly needsWake: boolean }
> = {
  file: 'promote-scheduled',
  args: ([, turn, wake]) => ({ turn, wake }),
  decode: (reply) => ({ needsWake: reply === 1 }),
};

export function setOf({ kind }: DueEntry): 'idle' | 'ready' {
  return kind === 'idle' ? 'idle' : 'ready';
}

export function memberOf({ kind, conversation, turn = '' }: DueEntry): string {
  if (kind === 'idle') return idleMember(conversation);
  return kind === 'scheduled'
    ? scheduledMember(conversation, turn)
    : readyMember(kind === 'turn' ? 't' : 'p', conversation);
}
