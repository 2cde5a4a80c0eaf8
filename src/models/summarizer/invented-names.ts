import type { Sliced } from '../../domain/sliced.ts';
import { kindOf, LOOSE_COLON, NAME, NAME_START, valueOf } from './names.ts';
import type { Section, Sections } from './sections.ts';
import type { SourceNames } from './source-names.ts';

/** Stands for a name that the source does not hold. */
const STRUCK = '[?]';

/** A word of a line that is no label: `File:` alone says nothing. */
const CONTENT =
  /(?<![\p{L}\p{N}])(?:[\p{L}\p{N}]{2,}|[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}])(?![\p{L}\p{N}]|\s*:)/u;

/**
 * Replaces names and figures that the model invented, in every section. Plain words are no names. A line that holds
 * nothing else is left out, and so is a section without lines.
 */
export function* strikeInvented(sections: Sections, source: SourceNames): Sliced<Sections> {
  const kept = new Map<Section, string>();
  for (const [section, body] of sections) {
    const lines: string[] = [];
    for (const line of body.split('\n')) {
      const struck = yield* strikeLine(line, source);
      const isEmptied = struck.includes(STRUCK) && !CONTENT.test(struck.replaceAll(STRUCK, ' '));
      if (!isEmptied) lines.push(struck);
      yield;
    }
    const text = lines.join('\n').trim();
    if (text !== '') kept.set(section, text);
  }
  return kept;
}

function* strikeLine(line: string, source: SourceNames): Sliced<string> {
  let struck = '';
  let end = 0;
  for (const match of line.matchAll(NAME)) {
    struck += line.slice(end, match.index) + (yield* checkName(match[0], source));
    end = match.index + match[0].length;
  }
  return struck + line.slice(end);
}

/** @returns the name, its spelling in the source, or the mark of a struck name */
function* checkName(name: string, source: SourceNames): Sliced<string> {
  const kind = kindOf(name);
  if (kind === 'plain' || (yield* source.holds(name))) return name;
  const pieces = name.split(LOOSE_COLON);
  if (pieces.length > 1) {
    const checked: string[] = [];
    for (const piece of pieces) checked.push(yield* strikeLine(piece, source));
    return checked.join(':');
  }
  if (kind === 'pair' && source.knowsWords(name)) return name;
  if (kind === 'figure') return (yield* source.holdsFigure(valueOf(name))) ? name : STRUCK;
  const bare = name.replace(NAME_START, '');
  if (bare !== name && (kindOf(bare) === 'plain' ? false : yield* source.holds(bare))) return bare;
  return source.respell(name) ?? source.respell(bare) ?? STRUCK;
}
