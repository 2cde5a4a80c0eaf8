export interface DecodedString {
  readonly text: string;
  /** Place of each UTF-16 unit, and of the end, in the text that contains the string. */
  readonly places: Uint32Array;
}

const BACKSLASH = 92;
const ESCAPED: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' };
const HEX = /^[\da-f]{4}$/i;

/** Decodes the JSON string whose quotes stand before `start` and at `end`. */
export function decodeString(text: string, start: number, end: number): DecodedString {
  const places = new Uint32Array(end - start + 1);
  const pieces: string[] = [];
  let units = 0;
  for (let at = start; at < end; ) {
    if (text.charCodeAt(at) !== BACKSLASH || at + 1 >= end) {
      const next = text.indexOf('\\', at + 1);
      const to = next === -1 || next > end ? end : next;
      for (let place = at; place < to; place += 1) places[units++] = place;
      pieces.push(text.slice(at, to));
      at = to;
      continue;
    }
    const letter = text[at + 1] as string;
    const hex = letter === 'u' ? text.slice(at + 2, at + 6) : '';
    const isHex = HEX.test(hex) && at + 6 <= end;
    places[units++] = at;
    pieces.push(isHex ? String.fromCharCode(Number.parseInt(hex, 16)) : (ESCAPED[letter] ?? letter));
    at += isHex ? 6 : 2;
  }
  places[units] = end;
  return { text: pieces.join(''), places: places.subarray(0, units + 1) };
}
