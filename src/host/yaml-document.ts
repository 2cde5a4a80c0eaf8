import { isMap, isNode, isScalar, isSeq, LineCounter, type Pair, parseDocument, type Scalar } from 'yaml';
import { type ErrorCode, TurnfoldError } from '../domain/errors.ts';
import { toCamelCase } from '../domain/policy-input.ts';
import { describeThrown } from '../domain/thrown.ts';

interface YamlText {
  readonly name: string;
  /** Field that errors name (default: `name`). */
  readonly field?: string;
  readonly code?: ErrorCode;
}

interface SettingPlace {
  /** Path with each key spelled as in the text. */
  readonly written: string;
  readonly line: number;
}

export interface YamlDocument {
  readonly value: unknown;
  /**
   * Finds a setting by its path, such as `summarizer.models[0]`, in camelCase or snake_case, also under `compact`. If
   * the
   * text lacks the setting, returns the innermost key around it.
   */
  readonly locate: (path: string) => SettingPlace | undefined;
  /** Line of the first setting whose name occurs in a sentence. */
  readonly findLine: (sentence: string) => number | undefined;
  /** Replaces setting names in a sentence by their spelling in the text. */
  readonly spell: (sentence: string) => string;
}

/** @throws invalid_policy, or the given code, for invalid YAML */
export function parseYaml(yaml: string, { name, field = name, code = 'invalid_policy' }: YamlText): YamlDocument {
  const lines = new LineCounter();
  const document = read(() => parseDocument(yaml, { lineCounter: lines }), { name, field, code });
  const [error] = document.errors;
  if (error !== undefined) {
    const why = error.message.split('\n')[0]?.replace(/:$/, '');
    throw new TurnfoldError(code, `${name}: ${why}`, { field, cause: error });
  }
  const root = document.contents;
  return {
    value: read(() => document.toJS() as unknown, { name, field, code }),
    locate: (path) => locate(root, path, lines),
    findLine: (sentence) => findLine(root, sentence, lines),
    spell: (sentence) => spell(root, sentence),
  };
}

/** Every failure of the parser gets a code, e.g. too many aliases, or nesting that overflows the stack. */
function read<T>(make: () => T, { name, field, code = 'invalid_policy' }: YamlText): T {
  try {
    return make();
  } catch (cause) {
    const { message } = describeThrown(cause);
    throw new TurnfoldError(code, `${name}: ${message}`, { field: field ?? name, cause });
  }
}

function locate(root: unknown, path: string, lines: LineCounter): SettingPlace | undefined {
  const segments = path.split(/[.[\]]/).filter((segment) => segment !== '');
  const [first = ''] = segments;
  if (findPair(root, first) === undefined && findPair(root, 'compact') !== undefined) segments.unshift('compact');
  let node: unknown = root;
  let offset: number | undefined;
  const written = segments.map((segment) => {
    const found = findChild(node, segment);
    node = found?.node;
    offset = found?.offset ?? offset;
    return found?.written ?? segment;
  });
  if (offset === undefined) return undefined;
  const joined = written.reduce((before, name) => (/^\d+$/.test(name) ? `${before}[${name}]` : `${before}.${name}`));
  return { written: joined, line: lines.linePos(offset).line };
}

interface Child {
  readonly node: unknown;
  readonly written: string;
  readonly offset: number | undefined;
}

function findChild(parent: unknown, segment: string): Child | undefined {
  if (isSeq(parent)) {
    const node = parent.items[Number(segment)];
    return isNode(node) ? { node, written: segment, offset: node.range?.[0] } : undefined;
  }
  const pair = findPair(parent, segment);
  return pair && { node: pair.value, written: String(pair.key.value), offset: pair.key.range?.[0] };
}

function findPair(node: unknown, key: string): Pair<Scalar> | undefined {
  return listPairs(node).find(({ key: { value } }) => value === key || toCamelCase(String(value)) === key);
}

function listPairs(node: unknown): readonly Pair<Scalar>[] {
  return isMap(node) ? node.items.filter((pair): pair is Pair<Scalar> => isScalar(pair.key)) : [];
}

const CAMEL_CASE = /\b[a-z]+(?:[A-Z][a-z]+)+/g;

function findLine(root: unknown, sentence: string, lines: LineCounter): number | undefined {
  for (const [name] of sentence.matchAll(CAMEL_CASE)) {
    const pair = listSettings(root).find(({ key }) => toCamelCase(String(key.value)) === name);
    const offset = pair?.key.range?.[0];
    if (offset !== undefined) return lines.linePos(offset).line;
  }
  return undefined;
}

function spell(root: unknown, sentence: string): string {
  const spellings = new Map(listSettings(root).map(({ key }) => [toCamelCase(String(key.value)), String(key.value)]));
  return sentence.replace(CAMEL_CASE, (name) => spellings.get(name) ?? name);
}

/** Lists the settings at the top of the file and under `compact`. */
function listSettings(root: unknown): readonly Pair<Scalar>[] {
  return [...listPairs(root), ...listPairs(findPair(root, 'compact')?.value)];
}
