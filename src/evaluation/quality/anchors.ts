import { hideIdentifiers } from './identifiers.ts';
import { findWhole } from './searchable-text.ts';

/** Words of the source that a kept needle must stand beside. */
const MIN_ANCHORS = 2;
/** Maximum number of places of an identifier that are read. */
const MAX_PLACES = 12;
/** Words at most this many characters away from an identifier stand beside it. */
const SOURCE_REACH = 60;
const CONTEXT_REACH = 80;
const WORD = /\b[A-Za-z][a-z]{3,}\b/g;
const JSON_KEY = /"([A-Za-z_]+)"\s*:/g;
const MIN_KEY_PART_CHARS = 4;
const EMPTY_WORDS: ReadonlySet<string> = new Set(
  (
    'this that with from have will your they been were what when which there their them then than into only also just some such ' +
    'more most over file line error true false null none text role user tool assistant'
  ).split(' '),
);

/** Words and JSON keys that stand beside an identifier in the source, in lower case. */
export function findAnchors(sourceText: string, identifier: string): Set<string> {
  const anchors = new Set<string>();
  for (const at of findWhole(sourceText, identifier).take(MAX_PLACES)) {
    for (const word of wordsAround(sourceText, at, { identifier, reach: SOURCE_REACH })) anchors.add(word);
  }
  return anchors;
}

/** Checks that a context shows an identifier beside two of its anchors, or beside all if it has fewer. */
export function isAnchored(context: string, identifier: string, anchors: ReadonlySet<string>): boolean {
  const needed = Math.min(MIN_ANCHORS, anchors.size);
  return findWhole(context, identifier)
    .take(MAX_PLACES)
    .some((at) => {
      const near = wordsAround(context, at, { identifier, reach: CONTEXT_REACH });
      return near.intersection(anchors).size >= needed;
    });
}

function wordsAround(
  text: string,
  at: number,
  { identifier, reach }: { readonly identifier: string; readonly reach: number },
): Set<string> {
  const near = text.slice(Math.max(0, at - reach), at + identifier.length + reach);
  const words = new Set<string>();
  for (const [word] of hideIdentifiers(near.replaceAll(identifier, ' ')).matchAll(WORD)) {
    if (!EMPTY_WORDS.has(word.toLowerCase())) words.add(word.toLowerCase());
  }
  for (const [, key = ''] of near.matchAll(JSON_KEY)) {
    for (const part of key.split('_')) if (part.length >= MIN_KEY_PART_CHARS) words.add(part.toLowerCase());
  }
  return words;
}
