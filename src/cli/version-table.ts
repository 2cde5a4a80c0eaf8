import type { Version } from '../domain/version.ts';

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

function formatTable(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
