import type { DueEntry } from '../../domain/ports/sweep-store.ts';

const KINDS: Readonly<Record<string, DueEntry['kind']>> = { t: 'turn', p: 'pass', d: 'scheduled', r: 'idle' };

/** A member of `ready` or `idle` read back: `t|tenant|id`, `p|tenant|id`, `d|tenant|id|turn`, `r|tenant|id`. Ids hold no `|`. */
export function decodeDueEntry(member: string): DueEntry {
  const [letter = '', tenant = '', id = '', turn] = member.split('|');
  const kind = KINDS[letter];
  if (kind === undefined) throw new Error(`entry ${member} is of no known kind`);
  return { kind, conversation: { tenant, id }, ...(turn !== undefined && { turn }) };
}

/** Whether a member of `ready` is one that we wrote. The sweep sets the others aside. */
export function isDueEntry(member: string): boolean {
  return /^(([tp]\|[\w.-]+\|[\w.-]+)|(d\|[\w.-]+\|[\w.-]+\|[\w.-]+))$/.test(member);
}
