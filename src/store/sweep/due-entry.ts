import type { DueEntry } from '../../domain/ports/sweep-store.ts';

const KINDS: Readonly<Record<string, DueEntry['kind']>> = { t: 'turn', p: 'pass', d: 'scheduled' };

/** A member of a `ready` set read back: `t|tenant|id`, `p|tenant|id`, `d|tenant|id|turn`. Ids hold no `|`. */
export function decodeDueEntry(member: string): DueEntry {
  const [letter = '', tenant = '', id = '', turn] = member.split('|');
  const kind = KINDS[letter];
  if (kind === undefined) throw new Error(`ready member ${member} is of no known kind`);
  return { kind, conversation: { tenant, id }, ...(turn !== undefined && { turn }) };
}
