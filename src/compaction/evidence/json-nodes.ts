import { JSON_TEXT_BOUNDS } from '../../domain/json-text.ts';

export interface JsonNode {
  readonly kind: 'object' | 'list' | 'string' | 'scalar';
  readonly start: number;
  /** Index after the value, or the end of the text if the text cuts off the value. */
  readonly end: number;
  /** Place of the key with its quotes. Absent for items of lists. */
  readonly key: readonly [start: number, end: number] | undefined;
  /** Characters of the value, without the blanks between values. */
  readonly chars: number;
  readonly children: readonly JsonNode[];
}

type JsonScan =
  | { readonly status: 'read'; readonly root: JsonNode }
  /** From `failedAt` on, the text is no JSON. */
  | { readonly status: 'failed'; readonly failedAt: number };

interface OpenNode {
  readonly kind: 'object' | 'list';
  readonly start: number;
  end: number;
  readonly key: JsonNode['key'];
  chars: number;
  readonly children: (JsonNode | OpenNode)[];
}

const SCALAR = /(?:-?\d[\d.eE+-]*|true|false|null|True|False|None|NaN)(?![\w$])/y;
const KINDS = { '{': 'object', '}': 'object', '[': 'list', ']': 'list' } as const;
const BLANKS = /\s*/y;

/** Reads JSON or Python literals without recursion. Tools may have cut off the text before the brackets close. */
export function scanJson(text: string, start: number): JsonScan {
  return new JsonScanner(text, start).scan();
}

class JsonScanner {
  readonly #text: string;
  readonly #open: OpenNode[] = [];
  #at: number;
  #root: JsonNode | undefined;
  #values = 0;
  #key: JsonNode['key'];
  #expects: 'value' | 'key' | 'colon' | 'comma' = 'value';
  /** True after an opening bracket or a comma, where Python allows a closing bracket. */
  #mayClose = false;

  constructor(text: string, start: number) {
    this.#text = text;
    this.#at = start;
  }

  scan(): JsonScan {
    do {
      BLANKS.lastIndex = this.#at;
      BLANKS.test(this.#text);
      this.#at = BLANKS.lastIndex;
      if (this.#at >= this.#text.length) return this.#cutOff();
      if (!this.#step()) return { status: 'failed', failedAt: this.#at };
    } while (this.#open.length > 0);
    return this.#root === undefined ? { status: 'failed', failedAt: this.#at } : { status: 'read', root: this.#root };
  }

  #cutOff(): JsonScan {
    const [root] = this.#open;
    for (let node = this.#open.pop(); node !== undefined; node = this.#open.pop()) {
      node.end = this.#text.length;
      this.#addChars(node);
    }
    return root === undefined ? { status: 'failed', failedAt: this.#at } : { status: 'read', root };
  }

  #step(): boolean {
    const character = this.#text[this.#at] as string;
    switch (character) {
      case '{':
      case '[':
        return this.#openNode(KINDS[character]);
      case '}':
      case ']':
        return this.#closeNode(KINDS[character]);
      case ',':
        return this.#readComma();
      case ':':
        return this.#expects === 'colon' && this.#pass('value');
      case '"':
      case "'":
        return this.#readString(character);
      default:
        SCALAR.lastIndex = this.#at;
        return SCALAR.test(this.#text) && this.#addValue('scalar', SCALAR.lastIndex);
    }
  }

  #readComma(): boolean {
    if (this.#expects !== 'comma') return false;
    this.#mayClose = true;
    return this.#pass(this.#open.at(-1)?.kind === 'object' ? 'key' : 'value');
  }

  #pass(expects: 'key' | 'value'): true {
    this.#expects = expects;
    this.#at += 1;
    return true;
  }

  #openNode(kind: OpenNode['kind']): boolean {
    if (this.#expects !== 'value' || this.#open.length >= JSON_TEXT_BOUNDS.maxDepth) return false;
    if ((this.#values += 1) > JSON_TEXT_BOUNDS.maxValues) return false;
    const node: OpenNode = { kind, start: this.#at, end: this.#at, key: this.#key, chars: 2, children: [] };
    this.#open.at(-1)?.children.push(node);
    this.#open.push(node);
    this.#key = undefined;
    this.#expects = kind === 'object' ? 'key' : 'value';
    this.#mayClose = true;
    this.#at += 1;
    return true;
  }

  #closeNode(kind: OpenNode['kind']): boolean {
    const node = this.#open.at(-1);
    if (node?.kind !== kind || !(this.#expects === 'comma' || this.#mayClose)) return false;
    this.#at += 1;
    node.end = this.#at;
    this.#open.pop();
    this.#addChars(node);
    if (this.#open.length === 0) this.#root = node;
    this.#expects = 'comma';
    this.#mayClose = false;
    return true;
  }

  /** Adds a value with its key and the comma behind it to the characters of the value around it. */
  #addChars({ key, chars }: JsonNode): void {
    const parent = this.#open.at(-1);
    if (parent !== undefined) parent.chars += chars + 1 + (key === undefined ? 0 : key[1] - key[0] + 1);
  }

  #readString(quote: string): boolean {
    const end = endOfString(this.#text, this.#at, quote);
    if (end === undefined) return false;
    if (this.#expects !== 'key') return this.#addValue('string', end);
    this.#key = [this.#at, end];
    this.#expects = 'colon';
    this.#mayClose = false;
    this.#at = end;
    return true;
  }

  #addValue(kind: 'string' | 'scalar', end: number): boolean {
    if (this.#expects !== 'value' || (this.#values += 1) > JSON_TEXT_BOUNDS.maxValues) return false;
    const node: JsonNode = { kind, start: this.#at, end, key: this.#key, chars: end - this.#at, children: [] };
    this.#open.at(-1)?.children.push(node);
    this.#addChars(node);
    this.#key = undefined;
    this.#expects = 'comma';
    this.#mayClose = false;
    this.#at = end;
    return true;
  }
}

const BACKSLASH = 92;
const LINE_END = 10;

/** @returns the index after the closing quote or the end of the text, or undefined if a line ends inside the string */
export function endOfString(text: string, start: number, quote: string): number | undefined {
  const unit = quote.charCodeAt(0);
  for (let at = start + 1; at < text.length; at += 1) {
    const found = text.charCodeAt(at);
    if (found === unit) return at + 1;
    if (found === LINE_END) return undefined;
    if (found === BACKSLASH) at += 1;
  }
  return text.length;
}
