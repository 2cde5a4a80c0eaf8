import { classOf, IDEOGRAPH, isWordClass, JOINER } from './characters.ts';

type PlaceVisitor = (start: number, end: number) => void;

const MIN_CHARS = 3;
const MAX_CHARS = 120;
/** Maximum number of joiners in a row inside one name: `a::b`, `../x`. */
const MAX_JOINERS = 3;
const SLASH = 47;

type TermVisitor = (term: string, start: number, end: number) => void;

export function scanTerms(text: string, from: number, to: number, visit: TermVisitor): void {
  scanPlaces(text, from, to, (start, end) => visit(text.slice(start, end), start, end));
}

/**
 * Finds the terms of a text in one pass, in any language:
 * - words of three characters or more
 * - names that joiners make of words: `src/a.ts`, `order-17`, `user.name`
 * - the file name of a path
 * - pairs of ideographs
 */
export function scanPlaces(text: string, from: number, to: number, visit: PlaceVisitor): void {
  let at = from;
  while (at < to) {
    const found = classOf(text.charCodeAt(at));
    if (found === IDEOGRAPH) at = scanIdeographs(text, at, to, visit);
    else if (isWordClass(found)) at = scanName(text, at, to, visit);
    else at += 1;
  }
}

function scanIdeographs(text: string, from: number, to: number, visit: PlaceVisitor): number {
  let at = from + 1;
  while (at < to && classOf(text.charCodeAt(at)) === IDEOGRAPH) {
    visit(at - 1, at + 1);
    at += 1;
  }
  return at;
}

function scanName(text: string, from: number, to: number, visit: PlaceVisitor): number {
  let end = from;
  let afterSlash = -1;
  for (let start = from, words = 0; ; ) {
    end = start;
    while (end < to && isWordClass(classOf(text.charCodeAt(end)))) end += 1;
    if (end - start >= MIN_CHARS) visit(start, end);
    words += 1;
    const next = skipJoiners(text, end, to);
    if (next === end || next - from > MAX_CHARS) {
      if (words > 1 && end - from <= MAX_CHARS) visitName(text, { from, end, afterSlash }, visit);
      return end;
    }
    if (text.charCodeAt(next - 1) === SLASH) afterSlash = next;
    start = next;
  }
}

/** @returns the place after the joiners, or `at` if the name ends */
function skipJoiners(text: string, at: number, to: number): number {
  let next = at;
  while (next < to && next - at < MAX_JOINERS && classOf(text.charCodeAt(next)) === JOINER) next += 1;
  return next > at && next < to && isWordClass(classOf(text.charCodeAt(next))) ? next : at;
}

interface NamePlace {
  readonly from: number;
  readonly end: number;
  readonly afterSlash: number;
}

function visitName(text: string, { from, end, afterSlash }: NamePlace, visit: PlaceVisitor): void {
  visit(from, end);
  if (afterSlash < 0 || end - afterSlash < MIN_CHARS) return;
  if (text.slice(afterSlash, end).includes('.')) visit(afterSlash, end);
}
