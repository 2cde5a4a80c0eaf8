/** Start, middle and end of an edit in an agent's words: the old lines, then the new ones. */
const OLD = /^[<-]{5,9} ?(?:SEARCH|ORIGINAL)\s*$/;
const NEW = /^={5,9}\s*$/;
const END = /^[>+]{5,9} ?(?:REPLACE|UPDATED)\s*$/;
/** Maximum characters of a mark. */
const MAX_MARK_CHARS = 32;

/**
 * Finds the old lines of edits that a text makes. Beside the new lines they would read like the present state.
 * @returns places of the old lines, in order. An edit without a middle or an end is no edit
 */
export function findReplacedText(text: string): (readonly [start: number, end: number])[] {
  const places: (readonly [number, number])[] = [];
  let [old, middle] = [-1, -1];
  for (let start = 0; start < text.length; ) {
    const found = text.indexOf('\n', start);
    const end = found === -1 ? text.length : found;
    const line = end - start <= MAX_MARK_CHARS ? text.slice(start, end) : '';
    if (OLD.test(line)) [old, middle] = [end, -1];
    else if (old >= 0 && middle < 0 && NEW.test(line)) middle = start;
    else if (middle >= 0 && END.test(line)) {
      places.push([old, middle]);
      [old, middle] = [-1, -1];
    }
    start = end + 1;
  }
  return places;
}
