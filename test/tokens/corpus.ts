import { existsSync, readdirSync, readFileSync } from 'node:fs';

const root = new URL('../../', import.meta.url);

/** Real texts of each kind, from packages that `npm ci` installs, so that they are the same on every machine. */
export function readTexts(): Record<'prose' | 'code' | 'json' | 'cjk', string> {
  return {
    prose: ['ioredis', 'glob', 'ssh2', 'regexp-tree'].map((name) => read(`node_modules/${name}/README.md`)).join('\n'),
    code: read('node_modules/typescript/lib/typescript.js').slice(1_000_000, 1_400_000),
    json: read('package-lock.json'),
    cjk: ['zh-cn', 'zh-tw', 'ja', 'ko'].map(readDiagnostics).join('\n'),
  };
}

/** Message texts and tool arguments of the recorded conversations beside the project. Undefined if there are none. */
export function readTraces(): string[] | undefined {
  const folder = new URL('../shared/traces/', root);
  if (!existsSync(folder)) return undefined;
  const lines = readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .flatMap((name) => readFileSync(new URL(name, folder), 'utf8').split('\n').filter(Boolean));
  return lines.flatMap((line) => {
    const { messages } = JSON.parse(line) as { messages: { content: string; toolCalls?: { arguments: string }[] }[] };
    return messages.flatMap(({ content, toolCalls = [] }) => [content, ...toolCalls.map((call) => call.arguments)]);
  });
}

/** The messages of the TypeScript compiler in one language. */
export function readDiagnostics(language: string): string {
  const messages = JSON.parse(read(`node_modules/typescript/lib/${language}/diagnosticMessages.generated.json`));
  return Object.values(messages as Record<string, string>).join('\n');
}

function read(path: string): string {
  return readFileSync(new URL(path, root), 'utf8');
}

/**
 * Generates pseudo-random integers in [0, below). The same seed gives the same numbers (the high bits of a linear
 * congruential generator).
 */
export function randomIntegers(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const EMOJI = ['👩‍👩‍👧‍👦', '🏳️‍🌈', '👍🏽', '🇩🇪', '😀', '1️⃣', '☃', '❤️‍🔥', '🧑🏿‍🚀', ' ', 'ok'];
const MARKS = ['e', 'A', '!', ' ', '\u0301', '\u0323', '\u20dd', 'ก็', 'नि', 'Z\u0351\u036b', '\u0300\u0300', "'s"];
const SPECIAL = [
  '<|endoftext|>',
  '<|endofprompt|>',
  '<|fim_prefix|>',
  '<|fim_middle|>',
  '<|im_start|>',
  '<|',
  '|>',
  ' a',
];
/**
 * Characters of every class of the split rules, and characters that JavaScript, Rust and the Unicode versions treat
 * differently.
 */
const RULE_EDGES = [
  'aAsStTmMdDrRvVeElLbB',
  "''''!/\\.\r\n\n\t  \u00a0\u0085\u3000\u2028\ufeff\u200b\u200d",
  '好ʰªǅßЯя\u017f\u212a1٣Ⅷ½😀\u{16ea0}\u{323b0}',
].flatMap((chars) => Array.from(chars).concat('\u0301', '\ud800', '\udc00'));

/** Makes `each` strings of each kind. */
export function makeStrings(each: number, seed: number): string[] {
  const random = randomIntegers(seed);
  const texts = readTexts();
  const from = (parts: readonly string[]): string =>
    Array.from({ length: 1 + random(14) }, () => parts[random(parts.length)]).join('');
  const bytes = (): string => Buffer.from(Array.from({ length: random(60) }, () => random(256))).toString();
  const codePoints = (): string =>
    Array.from({ length: random(20) }, () => String.fromCodePoint(random(random(2) ? 0x110000 : 0x3000))).join('');
  const makers = [
    ...Object.values(texts).map((text) => () => slice(text, random)),
    () => from(EMOJI),
    () => from(MARKS),
    () => from(SPECIAL),
    () => from(RULE_EDGES),
    bytes,
    codePoints,
  ];
  return makers.flatMap((make) => Array.from({ length: each }, make));
}

/** Returns a random piece of a text, up to 400 UTF-16 units long, which may split words and surrogate pairs. */
export function slice(text: string, random: (below: number) => number): string {
  const start = random(text.length);
  return text.slice(start, start + 1 + random(400));
}
