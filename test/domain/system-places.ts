import type { ContextItem } from '../../src/domain/version.ts';

/** Positions of the system messages of a context, by what compaction may do with them. Shares no code with compaction. */
export interface SystemPlaces {
  /** Before the log's first user message. They always stay. */
  readonly first: ReadonlySet<number>;
  /** The last of the others. A hard compaction may clip it, but never remove it. */
  readonly last: number | undefined;
  /** Others that a newer one repeats, if numbers are not compared. Compaction may drop them. */
  readonly repeated: ReadonlySet<number>;
}

export function findSystemPlaces(items: readonly ContextItem[], firstUserSeq: number | undefined): SystemPlaces {
  const places = [...items.entries()].filter(([, { message }]) => message.role === 'system');
  const isFirst = (position: number, { from }: ContextItem): boolean =>
    firstUserSeq === undefined
      ? items.slice(0, position).every(({ message }) => message.role === 'system')
      : from < firstUserSeq;
  const later = places.filter(([position, item]) => !isFirst(position, item));
  const textOf = ({ message }: ContextItem): string => message.content.split(/\d+/).join('#');
  const repeated = later.filter(([position, item]) =>
    places.some(([other, newer]) => other > position && textOf(newer) === textOf(item)),
  );
  return {
    first: new Set(places.filter(([position, item]) => isFirst(position, item)).map(([position]) => position)),
    last: later.at(-1)?.[0],
    repeated: new Set(repeated.map(([position]) => position)),
  };
}
