import { isTurnfoldError } from '../domain/errors.ts';

export interface ShardPage<Row> {
  readonly rows: readonly { readonly name: string; readonly item: Row }[];
  readonly last: string;
  readonly examined: number;
  readonly isEnd: boolean;
}

export type PageReply<Row> = readonly [last: string, examined: number, isEnd: number, ...rows: Row[]];

/** Decodes the rows of a page. A corrupt row is left out, so that the others are still listed. */
export function decodePage<Row extends readonly [name: string, ...unknown[]], Item>(
  [last, examined, isEnd, ...rows]: PageReply<Row>,
  decode: (row: Row) => Item,
): ShardPage<Item> {
  const decoded = rows.flatMap((row) => {
    try {
      return [{ name: row[0], item: decode(row) }];
    } catch (error) {
      if (isTurnfoldError(error, 'corrupt_record')) return [];
      throw error;
    }
  });
  return { last, examined, isEnd: isEnd === 1, rows: decoded };
}

interface ShardWalk<Row> {
  readonly shards: readonly number[];
  /** Shard at which to start, and the name in it after which to start. Undefined: the first shard. */
  readonly from: { readonly shard: number; readonly name: string } | undefined;
  readonly limit: number;
  readonly read: (shard: number, after: string) => Promise<ShardPage<Row>>;
}

/** Most names that one script call reads. The call blocks Redis for about a millisecond. */
export const NAMES_PER_SCRIPT = 250;
/** Most names that one client call reads, even if none of them matches. */
const NAMES_PER_CALL = 2_000;
/**
 * Most shards that are read in parallel. In a small database most shards are empty, and reading one after the other
 * would take long.
 */
const MOST_AT_ONCE = 64;

/** @returns rows, and the name to continue after, undefined after the last shard */
export async function walkShards<Row>({ shards, from, limit, read }: ShardWalk<Row>): Promise<{
  readonly items: readonly Row[];
  readonly next?: string;
}> {
  const items: Row[] = [];
  const rest = shards.slice(from === undefined ? 0 : shards.indexOf(from.shard));
  let [start, after, width, examinedNames] = [from, '', 1, 0];
  while (rest.length > 0) {
    const wave = rest.splice(0, width);
    const begin = start;
    const pages = await Promise.all(
      wave.map(async (shard) => ({ shard, ...(await read(shard, shard === begin?.shard ? begin.name : '')) })),
    );
    width = Math.min(width * 2, MOST_AT_ONCE);
    for (const [at, { shard, rows, last, examined, isEnd }] of pages.entries()) {
      const taken = rows.slice(0, limit - items.length);
      items.push(...taken.map(({ item }) => item));
      examinedNames += examined;
      after = taken.length < rows.length ? (taken.at(-1)?.name ?? after) : last || after;
      const isWholeShard = isEnd && taken.length === rows.length;
      const hasMore = !isWholeShard || at < wave.length - 1 || rest.length > 0;
      if (hasMore && (items.length >= limit || examinedNames >= NAMES_PER_CALL)) return { items, next: after };
      if (isWholeShard) continue;
      // The shard has more names than one call reads. The next round continues in this shard, and reads the later
      // shards again.
      start = { shard, name: last };
      rest.unshift(...wave.slice(at));
      width = 1;
      break;
    }
  }
  return { items };
}
