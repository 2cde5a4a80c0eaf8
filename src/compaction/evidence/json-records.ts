import { decodeString } from './decoded-string.ts';
import { endOfString, type JsonNode } from './json-nodes.ts';
import { type Field, type OuterText, type RecordReader, type TextRecord } from './records.ts';
import { showTerminal } from './terminal-text.ts';

/** Maximum characters of an object, or of a list of values, that is one field. */
const NESTED_CHARS = 120;
/** Maximum characters of several objects that are one field. */
const ITEMS_CHARS = 40;
/** Maximum characters of an item that is one record: an object of a list, or an object that its key names. */
const ITEM_CHARS = 180;
/** Maximum characters of a string in a record. A longer string is a text of its own. */
const STRING_CHARS = 160;
/** Maximum characters of a string in a record, if the string has line ends. */
const LINED_CHARS = 80;
/** Maximum characters of a value that can name an object. */
const IDENTITY_CHARS = 100;
/** Keys whose values name an object, the best first. */
const IDENTITY_KEYS = [
  /^(?:id|uuid)$|(?:[_-]|(?<=[a-z])(?=[A-Z]))(?:id|uuid)$/i,
  /^(?:key|code|number|no|nr|sku|ref|path|file|url)$|(?:[_-]|(?<=[a-z])(?=[A-Z]))(?:key|code|number|no|sku|ref|path)$/i,
  /^(?:name|title)$|(?:[_-]|(?<=[a-z])(?=[A-Z]))(?:name|title)$/i,
];

interface Place {
  readonly owner: TextRecord | undefined;
  readonly depth: number;
  /** Key whose value names each object of a list, because the values differ. */
  readonly naming?: string | undefined;
  readonly isItem?: boolean;
}

interface JsonContext {
  readonly place: Place;
  readonly readText: (outer: OuterText) => void;
}

/**
 * A small object is one record. A large object becomes a line of its fields, owned by the field that names the object,
 * or by its key. Long strings are decoded and read as texts.
 */
export function readJsonRecords(reader: RecordReader, root: JsonNode, { place, readText }: JsonContext): void {
  new JsonReader(reader, { place, readText, frames: findFramed(reader.text, root) }).read(root, place);
}

class JsonReader {
  readonly #reader: RecordReader;
  readonly #context: JsonContext & { readonly frames: JsonNode | undefined };

  constructor(reader: RecordReader, context: JsonContext & { readonly frames: JsonNode | undefined }) {
    this.#reader = reader;
    this.#context = context;
  }

  read(node: JsonNode, place: Place): void {
    if (this.#isSmall(node, place.isItem)) this.#addValue(node, { ...place, line: this.#reader.nextLine() });
    else if (node.kind === 'string') this.#readString(node, place);
    else this.#readFields(node, place);
  }

  #addValue(node: JsonNode, place: Pick<TextRecord, 'owner' | 'depth' | 'line' | 'field'>): void {
    this.#reader.add(this.#draftOf(node, place));
  }

  #prepare(
    node: JsonNode | undefined,
    place: Pick<TextRecord, 'owner' | 'depth' | 'line' | 'field'>,
  ): TextRecord | undefined {
    return node === undefined ? undefined : this.#reader.prepare(this.#draftOf(node, place));
  }

  #draftOf(node: JsonNode, { owner, depth, line, field }: Pick<TextRecord, 'owner' | 'depth' | 'line' | 'field'>) {
    const [start, end] = [node.key?.[0] ?? node.start, node.end];
    return { start, end, owner, depth, line, field, text: showJson(this.#reader.text.slice(start, end)) };
  }

  #readFields(node: JsonNode, place: Place): void {
    const { children, kind } = node;
    const line = this.#reader.nextLine();
    const label = this.#addKey(node, { ...place, line });
    const around = label ?? place.owner;
    const field = (at: number): Field => ({ at, of: kind === 'object' ? 'object' : 'list', size: children.length });
    const named = kind === 'object' ? this.#findIdentity(node, place.naming) : -1;
    const identity = this.#prepare(children[named], { owner: around, depth: place.depth, line, field: field(named) });
    const owner = identity ?? around;
    const inner = { owner, depth: label === undefined && kind === 'list' ? place.depth : place.depth + 1 };
    const naming = kind === 'list' ? findNamingKey(this.#reader.text, children) : undefined;
    const isItem = kind === 'list' || isMap(this.#reader.text, node);
    // An object before the name of the object around it has a line of its own, behind the name.
    const isValue = (child: JsonNode, at: number): boolean =>
      this.#isSmall(child) && (child.children.length === 0 || (!isItem && at > named));
    for (const [at, child] of children.entries()) {
      if (at === named && identity !== undefined) this.#reader.settle(identity);
      else if (isValue(child, at)) this.#addValue(child, { owner, depth: place.depth, line, field: field(at) });
      else this.read(child, { ...inner, naming, isItem });
    }
  }

  /** The key of an object, a list or a long string owns the records inside. */
  #addKey(node: JsonNode, { owner, depth, line }: Place & { readonly line: number }): TextRecord | undefined {
    if (node.key === undefined) return undefined;
    const [start, end] = node.key;
    const text = `${showJson(this.#reader.text.slice(start, end))}:`;
    const record = this.#reader.prepare({ start, end, owner, depth, line, text, isKey: true });
    this.#reader.settle(record);
    return record;
  }

  #readString(node: JsonNode, place: Place): void {
    const { text: around } = this.#reader;
    const isClosed = node.end - node.start > 1 && around[node.end - 1] === around[node.start];
    const inside = decodeString(around, node.start + 1, node.end - Number(isClosed));
    const { frames, readText, place: root } = this.#context;
    if (frames === node) {
      readText({ reader: this.#reader, decoded: inside, ...root });
      return;
    }
    const label = this.#addKey(node, { ...place, line: this.#reader.nextLine() });
    const depth = place.depth + Number(label !== undefined);
    readText({ reader: this.#reader, decoded: inside, owner: label ?? place.owner, depth });
  }

  #isSmall(node: JsonNode, isItem = false): boolean {
    return isSmall(this.#reader.text, node, isItem);
  }

  /** @returns the position of the field that names an object, or −1 */
  #findIdentity({ children }: JsonNode, naming: string | undefined): number {
    const { text } = this.#reader;
    if (naming !== undefined) return children.findIndex((child) => keyOf(text, child) === naming && isName(child));
    const keys = children.filter(isName).map((child) => keyOf(text, child));
    const [best] = rankKeys(keys);
    return best === undefined ? -1 : children.findIndex((child) => keyOf(text, child) === best);
  }
}

/** True if the value is one record. An item may be larger than other values, because its parts say little alone. */
function isSmall(text: string, { kind, start, end, chars, children }: JsonNode, isItem = false): boolean {
  if (kind === 'scalar') return true;
  if (kind === 'string')
    return chars <= STRING_CHARS && (chars <= LINED_CHARS || !text.slice(start, end).includes('\\n'));
  const isOfItems = children.some((child) => child.kind === 'object') && (kind === 'list' || children.length > 1);
  const most = isItem ? ITEM_CHARS : isOfItems ? ITEMS_CHARS : NESTED_CHARS;
  return chars <= most && children.every((child) => isSmall(text, child));
}

/** Minimum share of entries with the same keys as the first entry, in an object whose keys name things. */
const MIN_ALIKE = 0.5;

/** True for an object that names things by its keys, as in `{"a-1": {"price": 5}, "a-2": {"price": 6}}`. */
function isMap(text: string, { kind, children }: JsonNode): boolean {
  const [first] = children;
  if (kind !== 'object' || first === undefined || children.some((child) => child.kind !== 'object')) return false;
  if (children.length === 1) return /\d/.test(keyOf(text, first));
  const keys = new Set(first.children.map((child) => keyOf(text, child)));
  const alike = children.filter((child) => child.children.some((inner) => keys.has(keyOf(text, inner))));
  return alike.length > MIN_ALIKE * children.length;
}

/** Finds the only long string of a JSON value, such as the output of a tool. No field may name the object around it. */
function findFramed(text: string, root: JsonNode): JsonNode | undefined {
  if (countTexts(text, root) !== 1) return undefined;
  let node: JsonNode | undefined = root;
  while (node !== undefined && node.kind !== 'string') {
    const isNamed = node.children.some((child) => isName(child) && rankKeys([keyOf(text, child)]).length > 0);
    if (node.kind === 'list' ? node.children.length > 1 : isNamed) return undefined;
    node = node.children.find((child) => countTexts(text, child) === 1);
  }
  return node;
}

function countTexts(text: string, node: JsonNode): number {
  if (node.kind === 'string') return isSmall(text, node) ? 0 : 1;
  let count = 0;
  for (const child of node.children) {
    count += countTexts(text, child);
    if (count > 1) return 2;
  }
  return count;
}

function isName({ kind, start, end }: JsonNode): boolean {
  return (kind === 'string' || kind === 'scalar') && end - start <= IDENTITY_CHARS;
}

function keyOf(text: string, { key }: JsonNode): string {
  return key === undefined ? '' : text.slice(key[0] + 1, key[1] - 1);
}

/** Finds the key whose values differ in all objects of a list. Keys that look like identities come first. */
function findNamingKey(text: string, items: readonly JsonNode[]): string | undefined {
  const objects = items.filter(({ kind }) => kind === 'object');
  const keys = (objects[0]?.children ?? []).filter(isName).map((child) => keyOf(text, child));
  const ranked = [...rankKeys(keys), ...keys];
  return ranked.find((key) => namesEach(text, objects, key)) ?? ranked[0];
}

function rankKeys(keys: readonly string[]): string[] {
  return IDENTITY_KEYS.flatMap((pattern) => keys.filter((key) => pattern.test(key)));
}

function namesEach(text: string, objects: readonly JsonNode[], key: string): boolean {
  const values = new Set<string>();
  for (const { children } of objects) {
    const found = children.find((child) => keyOf(text, child) === key);
    if (found === undefined || !isName(found)) return false;
    values.add(text.slice(found.start, found.end));
  }
  return values.size === objects.length;
}

const QUOTE = /["']/g;
const BLANKS = /\s+/g;

/** Leaves out escapes in strings and the blanks between values. Blanks are a fifth of the tokens. */
function showJson(json: string): string {
  const shown: string[] = [];
  for (let at = 0; at < json.length; ) {
    QUOTE.lastIndex = at;
    const start = QUOTE.exec(json)?.index ?? json.length;
    const quote = json[start] ?? '';
    const end = endOfString(json, start, quote) ?? json.length;
    const isClosed = end > start + 1 && json[end - 1] === quote;
    shown.push(json.slice(at, start).replaceAll(BLANKS, ''));
    shown.push(
      isClosed ? quote + showTerminal(decodeString(json, start + 1, end - 1).text) + quote : json.slice(start, end),
    );
    at = end;
  }
  return shown.join('');
}
