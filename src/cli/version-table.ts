import type { Version } from '../domain/version.ts';
import { formatTable } from './table.ts';

const HEADER = ['version', 'strategy', 'reasons', 'archived', 'tokens before → after', 'took', 'notes'];

/** A table of versions, in their order, as lines of text. */
export function describeVersions(versions: readonly Version[]): string[] {
  const rows = versions.map((version) => [
    String(version.number),
    version.strategy,
    version.reasons.join(', '),
    String(version.archived),
    `${version.tokensBefore} → ${version.tokensAfter}`,
    `${version.durationMs} ms`,
    [...version.explained, ...(version.floorRelaxed ? ['floor_relaxed'] : [])].join(', '),
  ]);
  const table = [HEADER, ...rows];
  const isNoted = rows.some((row) => row.at(-1) !== '');
  return formatTable(isNoted ? table : table.map((row) => row.slice(0, -1)));
}
