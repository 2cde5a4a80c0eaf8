import { isTurnfoldError } from '../../domain/errors.ts';

/** A page of one shard. */
export interface ShardPage<Row> {
  readonly rows: readonly { readonly name: string; readonly item: Row }[];
  /** the last name that was looked at; empty if there was none */
  readonly last: string;
  /** how many names were looked at */
  readonly looked: number;
  readonly isEnd: boolean;
}

/** Rows of a page. A row of a record that cannot be read is left out: the caller asked for the others as well. */
export function readRows<Row extends readonly [name: string, ...unknown[]], Item>(
  rows: readonly Row[],
  decode: (row: Row) => Item,
): { readonly name: string; readonly item: Item }[] {
  return rows.flatMap((row) => {
    try {
      return [{ name: row[0], item: decode(row) }];
    } catch (error) {
      if (isTurnfoldError(error, 'corrupt_record')) return [];
      throw error;
    }
  });
}

interface ShardWalk<Row> {
  readonly shards: readonly number[];
  /** the shard to begin with, and the name behind which to begin there; absent: at the beginning of the first */
  readonly from: { readonly shard: number; readonly name: string } | undefined;
  readonly limit: number;
  readonly read: (shard: number, after: string) => Promise<ShardPage<Row>>;
}

/** Names that one script looks at: about a millisecond in which Redis does nothing else. */
export const LOOKS_PER_SHARD = 250;
/** Names that one call looks at, whatever it finds. */
const LOOKS_PER_CALL = 2_000;
/** Shards read at once, at most. In a small database most are empty, and a round trip for each would take long. */
const MOST_AT_ONCE = 64;

/**
 * Walks the shards in order until it has `limit` rows or has looked at enough names.
 * @returns the rows, and the name to go on behind; undefined at the end of the last shard
 */
export async function walkShards<Row>({ shards, from, limit, read }: ShardWalk<Row>): Promise<{
  readonly items: readonly Row[];
  readonly next?: string;
}> {
  const items: Row[] = [];
  const rest = shards.slice(from === undefined ? 0 : shards.indexOf(from.shard));
  let [start, after, width, looks] = [from, '', 1, 0];
  while (rest.length > 0) {
    const wave = rest.splice(0, width);
    const begin = start;
    const pages = await Promise.all(
      wave.map(async (shard) => ({ shard, ...(await read(shard, shard === begin?.shard ? begin.name : '')) })),
    );
    width = Math.min(width * 2, MOST_AT_ONCE);
    for (const [at, { shard, rows, last, looked, isEnd }] of pages.entries()) {
      const taken = rows.slice(0, limit - items.length);
      items.push(...taken.map(({ item }) => item));
      looks += looked;
      after = taken.length < rows.length ? (taken.at(-1)?.name ?? after) : last || after;
      const isWholeShard = isEnd && taken.length === rows.length;
      const hasMore = !isWholeShard || at < wave.length - 1 || rest.length > 0;
      if (hasMore && (items.length >= limit || looks >= LOOKS_PER_CALL)) return { items, next: after };
      if (isWholeShard) continue;
      // The shard has more names than one script looks at: it is gone on with, and what was read of later ones is read again.
      start = { shard, name: last };
      rest.unshift(...wave.slice(at));
      width = 1;
      break;
    }
  }
  return { items };
}
