/** One place in a body. */
export interface Site {
  readonly holder: Record<string, unknown>;
  readonly key: string;
  readonly value: unknown;
  /** Key of the holder. Inside a list, the key of the list. */
  readonly under: string;
}

/** A change that breaks a valid body at any place, and the rule that must detect it. */
export interface Mutation {
  readonly name: string;
  readonly rule: string;
  readonly isPlace: (site: Site) => boolean;
  readonly apply: (site: Site) => void;
}

export const mutations: readonly Mutation[] = [
  { name: 'a result is dropped', rule: 'X1', isPlace: isResult, apply: drop },
  { name: 'a result is doubled', rule: 'X1', isPlace: isResult, apply: double },
  { name: 'a call is dropped', rule: 'X1', isPlace: isCall, apply: drop },
  { name: 'a call is doubled', rule: 'X1', isPlace: isCall, apply: double },
  {
    name: 'a text is blanked',
    rule: 'X3',
    isPlace: isText,
    apply: ({ holder, key }) => void (holder[key] = '\n '),
  },
  {
    name: 'a text is cut inside a character',
    rule: 'X8',
    isPlace: isText,
    apply: ({ holder, key }) => void (holder[key] = `${String(holder[key])}\ud83d`),
  },
  {
    name: 'arguments are clipped',
    rule: 'X7',
    isPlace: ({ value, key }) => key === 'arguments' && typeof value === 'string',
    apply: ({ holder, key, value }) => void (holder[key] = String(value).slice(0, -1)),
  },
  {
    name: 'arguments are a list',
    rule: 'X7',
    isPlace: ({ holder, key }) => key === 'input' && holder['type'] === 'tool_use',
    apply: ({ holder, key }) => void (holder[key] = []),
  },
  {
    name: 'a described tool is gone',
    rule: 'X6',
    isPlace: ({ value, key }) => key === 'tools' && Array.isArray(value),
    apply: ({ holder, key }) => void delete holder[key],
  },
  {
    name: 'the assistant speaks last',
    rule: 'X4',
    isPlace: isHistory,
    apply: ({ value }) => void (value as unknown[]).push({ role: 'assistant', content: 'Done.' }),
  },
  {
    name: 'the assistant speaks first',
    rule: 'X5',
    isPlace: isHistory,
    apply: ({ value }) => void (value as unknown[]).unshift({ role: 'assistant', content: 'Hi.' }),
  },
  {
    name: 'the history is gone',
    rule: 'X5',
    isPlace: isHistory,
    apply: ({ value }) => void (value as unknown[]).splice(0),
  },
];

/** Every place of a body, its own fields first. */
export function* sitesOf(value: unknown, under = ''): Generator<Site> {
  if (typeof value !== 'object' || value === null) return;
  const holder = value as Record<string, unknown>;
  for (const [key, inner] of Object.entries(holder)) {
    yield { holder, key, value: inner, under };
    yield* sitesOf(inner, Array.isArray(value) ? under : key);
  }
}

const RESULTS: ReadonlySet<unknown> = new Set(['tool_result', 'function_call_output']);
const CALLS: ReadonlySet<unknown> = new Set(['tool_use', 'function_call', 'function']);
const TEXTS: ReadonlySet<unknown> = new Set(['text', 'input_text', 'output_text']);

function isResult({ value }: Site): boolean {
  return RESULTS.has(fieldOf(value, 'type')) || fieldOf(value, 'role') === 'tool';
}

function isCall({ value, under }: Site): boolean {
  return CALLS.has(fieldOf(value, 'type')) && under !== 'tools';
}

function isText({ holder, key, value }: Site): boolean {
  if (typeof value !== 'string') return false;
  return key === 'text' ? TEXTS.has(holder['type']) : key === 'content' || key === 'output';
}

function isHistory({ key, value, under }: Site): boolean {
  return under === '' && (key === 'messages' || key === 'input') && Array.isArray(value);
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

function drop({ holder, key }: Site): void {
  (holder as unknown as unknown[]).splice(Number(key), 1);
}

function double({ holder, key, value }: Site): void {
  (holder as unknown as unknown[]).splice(Number(key), 0, structuredClone(value));
}
