/** A field or list element in a request body. */
export interface Site {
  readonly holder: Record<string, unknown>;
  readonly key: string;
  readonly value: unknown;
  /** Key of the object that contains the field. For a list element, the key of the list. */
  readonly under: string;
}

/** A change that makes a valid request body invalid, and the rule that must detect the change. */
export interface Mutation {
  readonly name: string;
  readonly rule: string;
  readonly isPlace: (site: Site) => boolean;
  readonly apply: (site: Site) => void;
}

export const mutations: readonly Mutation[] = [
  { name: 'a tool result is missing', rule: 'X1', isPlace: isResult, apply: drop },
  { name: 'a tool result occurs twice', rule: 'X1', isPlace: isResult, apply: double },
  { name: 'a tool call is missing', rule: 'X1', isPlace: isCall, apply: drop },
  { name: 'a tool call occurs twice', rule: 'X1', isPlace: isCall, apply: double },
  {
    name: 'a text is blank',
    rule: 'X3',
    isPlace: isText,
    apply: ({ holder, key }) => void (holder[key] = '\n '),
  },
  {
    name: 'a text is cut inside a surrogate pair',
    rule: 'X8',
    isPlace: isText,
    apply: ({ holder, key }) => void (holder[key] = `${String(holder[key])}\ud83d`),
  },
  {
    name: 'the arguments of a call are cut off',
    rule: 'X7',
    isPlace: ({ value, key }) => key === 'arguments' && typeof value === 'string',
    apply: ({ holder, key, value }) => void (holder[key] = String(value).slice(0, -1)),
  },
  {
    name: 'the arguments of a call are a list',
    rule: 'X7',
    isPlace: ({ holder, key }) => key === 'input' && holder['type'] === 'tool_use',
    apply: ({ holder, key }) => void (holder[key] = []),
  },
  {
    name: 'the tool descriptions are missing',
    rule: 'X6',
    isPlace: ({ value, key }) => key === 'tools' && Array.isArray(value),
    apply: ({ holder, key }) => void delete holder[key],
  },
  {
    name: 'an assistant message is last',
    rule: 'X4',
    isPlace: isHistory,
    apply: ({ value }) => void (value as unknown[]).push({ role: 'assistant', content: 'Done.' }),
  },
  {
    name: 'an assistant message is first',
    rule: 'X5',
    isPlace: isHistory,
    apply: ({ value }) => void (value as unknown[]).unshift({ role: 'assistant', content: 'Hi.' }),
  },
  {
    name: 'the list of messages is empty',
    rule: 'X5',
    isPlace: isHistory,
    apply: ({ value }) => void (value as unknown[]).splice(0),
  },
];

/** Yields every field and list element of a body, outer ones first. */
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
