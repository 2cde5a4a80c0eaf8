import type { DecodedString } from './decoded-string.ts';

const [BELL, BACKSPACE, ESCAPE, CSI] = [7, 8, 27, 155].map((unit) => String.fromCharCode(unit));
/** Text that has something to remove. Tested first, because most texts are plain. A line end may be `\r\n`. */
const CONTROLS = new RegExp(`[${ESCAPE}${CSI}${BACKSPACE}]|(?<!\\r)\\r(?!\\r*\\n|$)`);
/** Colours and cursor moves, titles and links, character sets, and a character that the next one overwrites. */
const SEQUENCE = new RegExp(
  [
    `(?:${ESCAPE}\\[|${CSI})[0-?]{0,32}[ -/]{0,4}[@-~]`,
    `${ESCAPE}[\\]PX^_][^${BELL}${ESCAPE}\\n]{0,2048}(?:${BELL}|${ESCAPE}\\\\)`,
    `${ESCAPE}[ -/]{0,4}[0-~]`,
    `(?:[\\ud800-\\udbff][\\udc00-\\udfff]|[^${BACKSPACE}\\n])?${BACKSPACE}`,
    '(?<!\\r)\\r+(?=\\n|$)',
    `[${ESCAPE}${CSI}]`,
  ].join('|'),
  'g',
);

/**
 * Removes what a terminal does not show. These are escape codes, and states of a line that a later state overwrote,
 * such as the steps of a progress bar. States that do not look alike stay as lines.
 * @returns undefined for a text without such codes
 */
export function readTerminal(text: string): DecodedString | undefined {
  if (!CONTROLS.test(text)) return undefined;
  const places = new Uint32Array(text.length + 1);
  const pieces: string[] = [];
  let units = 0;
  const keep = (from: number, to: number): void => {
    for (let at = from; at < to; at += 1) places[units++] = at;
    pieces.push(text.slice(from, to));
  };
  for (const [start, end] of shownStretches(text)) {
    let from = start;
    SEQUENCE.lastIndex = start;
    for (let found = SEQUENCE.exec(text); found !== null && found.index < end; found = SEQUENCE.exec(text)) {
      if (found.index > from) keep(from, found.index);
      from = Math.min(end, SEQUENCE.lastIndex);
      if (from === end) break;
    }
    if (from < end) keep(from, end);
  }
  places[units] = text.length;
  return { text: pieces.join('').replaceAll('\r', '\n'), places: places.subarray(0, units + 1) };
}

/** Writes a text as a terminal shows it. */
export function showTerminal(text: string): string {
  return readTerminal(text)?.text ?? text;
}

/** Lists the parts of a text that no later state of the same line overwrote. A part ends behind its line end. */
function* shownStretches(text: string): Generator<readonly [start: number, end: number]> {
  for (let start = 0; start < text.length; ) {
    const found = text.indexOf('\n', start);
    const end = found === -1 ? text.length : found + 1;
    yield* statesOf(text, start, end);
    start = end;
  }
}

const STATE = /[^\r]*(?:\r+\n?|$)/g;

function statesOf(text: string, start: number, end: number): (readonly [number, number])[] {
  const states: (readonly [number, number])[] = [];
  const line = text.slice(start, end);
  const first = line.indexOf('\r');
  if (first === -1 || first >= line.trimEnd().length) return [[start, end]];
  for (const { 0: state, index } of line.matchAll(STATE))
    if (state !== '') states.push([start + index, start + index + state.length]);
  const later = new Set<string>();
  return states
    .toReversed()
    .filter(([from, to]) => {
      const form = formOfState(text.slice(from, to));
      return form !== '' && later.size < later.add(form).size;
    })
    .toReversed();
}

/** Leaves only the words of a state, because the numbers and the bar of a progress change. */
function formOfState(state: string): string {
  return (
    state
      .replaceAll(SEQUENCE, '')
      .replaceAll(/[^\p{L}]+/gu, ' ')
      .trim() || (state.trim() === '' ? '' : '%')
  );
}
