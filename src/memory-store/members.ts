import type { ConversationRef } from '../domain/ids.ts';
import type { DueEntry } from '../domain/ports/sweep-store.ts';

const KINDS: Readonly<Record<string, DueEntry['kind']>> = { t: 'turn', p: 'pass', d: 'scheduled', r: 'idle' };

/** Builds the name under which the sweeper finds a mailbox (`t`) or a compaction pass (`p`). */
export function readyEntry(kind: 't' | 'p', { tenant, id }: ConversationRef): string {
  return `${kind}|${tenant}|${id}`;
}

export function idleEntry({ tenant, id }: ConversationRef): string {
  return `r|${tenant}|${id}`;
}

export function scheduledEntry({ tenant, id }: ConversationRef, turn: string): string {
  return `d|${tenant}|${id}|${turn}`;
}

export function encodeMember({ kind, conversation, turn = '' }: DueEntry): string {
  if (kind === 'idle') return idleEntry(conversation);
  return kind === 'scheduled'
    ? scheduledEntry(conversation, turn)
    : readyEntry(kind === 'turn' ? 't' : 'p', conversation);
}

export function decodeMember(member: string): DueEntry {
  const [letter = '', tenant = '', id = '', turn] = member.split('|');
  const kind = KINDS[letter];
  if (kind === undefined) throw new Error(`due entry ${member}: unknown kind`);
  return { kind, conversation: { tenant, id }, ...(turn !== undefined && { turn }) };
}
