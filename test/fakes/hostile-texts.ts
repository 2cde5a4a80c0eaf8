/** JSON of a kind that costs much per byte: to read, to hold, or to report what is wrong with it. */
export interface HostileText {
  readonly name: string;
  /** Writes JSON of about this many bytes. */
  readonly write: (bytes: number) => string;
}

function repeat(bytes: number, open: string, close: string, write: (at: number) => string): string {
  const members: string[] = [];
  for (let [at, left] = [0, bytes - 2]; left > 0; at += 1) {
    const member = write(at);
    left -= member.length + 1;
    members.push(member);
  }
  return `${open}${members.join(',')}${close}`;
}

const list = (write: (at: number) => string) => (bytes: number) => repeat(bytes, '[', ']', write);
const object = (write: (at: number) => string) => (bytes: number) => repeat(bytes, '{', '}', write);
const text = (unit: string) => (bytes: number) => `"${unit.repeat(Math.floor(bytes / Buffer.byteLength(unit)))}"`;

export const HOSTILE_TEXTS: readonly HostileText[] = [
  { name: 'empty objects', write: list(() => '{}') },
  { name: 'empty lists', write: list(() => '[]') },
  { name: 'digits', write: list(() => '1') },
  { name: 'nulls', write: list(() => 'null') },
  { name: 'objects with a key of their own', write: list((at) => `{"k${at}":0}`) },
  { name: 'objects with four keys of their own', write: list((at) => `{"a${at}":0,"b${at}":0,"c${at}":0,"d${at}":0}`) },
  { name: 'small texts', write: list((at) => `"s${at}"`) },
  { name: 'escaped texts', write: list((at) => `"\\u00e9\\n${at}"`) },
  { name: 'texts of other alphabets', write: list((at) => `"漢字${at}"`) },
  { name: 'fractions', write: list((at) => `1.${at}e-300`) },
  { name: 'numbers of 10,000 digits', write: list(() => '1'.repeat(10_000)) },
  { name: 'pairs in lists', write: list(() => '[[],[]]') },
  { name: 'wide object', write: object((at) => `"k${at}":0`) },
  { name: 'wide object of objects', write: object((at) => `"k${at}":{}`) },
  { name: 'wide object with numbers as keys', write: object((at) => `"${(at * 7_919) % 10_000_000}":0`) },
  { name: 'wide object with large numbers as keys', write: object((at) => `"${(at * 7_919_987) % 4_294_967_290}":0`) },
  { name: 'keys that repeat', write: object(() => '"a":{}') },
  { name: '__proto__ that repeats', write: object(() => '"__proto__":{}') },
  { name: 'constructors', write: list(() => '{"constructor":{"prototype":{}}}') },
  { name: 'depth of lists', write: (bytes) => '['.repeat(bytes / 2) + ']'.repeat(bytes / 2) },
  { name: 'depth of objects', write: (bytes) => `${'{"a":'.repeat(bytes / 6)}0${'}'.repeat(bytes / 6)}` },
  { name: 'lists of 90 levels', write: list(() => '['.repeat(90) + ']'.repeat(90)) },
  { name: 'long text', write: text('x') },
  { name: 'long text of escapes', write: text('\\u0000') },
  { name: 'long text of quotes', write: text('\\"') },
  { name: 'long text of backslashes', write: text('\\\\') },
  { name: 'long text of other alphabets', write: text('漢') },
  { name: 'long text of surrogate pairs', write: text('\\ud83d\\ude00') },
  { name: 'long text of lone surrogates', write: text('\\ud83d') },
  { name: 'long number', write: (bytes) => '1'.repeat(bytes) },
  { name: 'long fraction', write: (bytes) => `0.${'1'.repeat(bytes)}` },
  { name: 'long key', write: (bytes) => `{"${'k'.repeat(bytes)}":0}` },
  { name: 'space', write: (bytes) => `[${' '.repeat(bytes)}]` },
];
