import { StringDecoder } from 'node:string_decoder';

type EventTaker = (data: string, name: string | undefined) => void;

/**
 * Calls a function with each server-sent event. A promise or an iterator per event would cost more than the parsing.
 */
export class EventParser {
  readonly #take: EventTaker;
  readonly #decoder = new StringDecoder('utf8');
  #rest = '';
  #name: string | undefined;
  #data: string | undefined;
  #isFirst = true;
  /** True after a carriage return, whose line end a line feed may complete. */
  #mayContinue = false;

  constructor(take: EventTaker) {
    this.#take = take;
  }

  push(bytes: Uint8Array): void {
    this.#read(this.#decoder.write(bytes));
  }

  /** Some servers leave out the line end after their last event. */
  end(): void {
    this.#read(this.#decoder.end());
    if (this.#rest !== '') this.#read('\n');
    this.#readLine('');
  }

  #read(given: string): void {
    if (given === '') return;
    let text = given;
    if (this.#mayContinue && text.startsWith('\n')) text = text.slice(1);
    this.#mayContinue = text.endsWith('\r');
    if (text.includes('\r')) text = text.replace(/\r\n?/g, '\n');
    let from = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
      const line = text.slice(from, end);
      from = end + 1;
      this.#readLine(this.#rest === '' ? line : this.#takeRest() + line);
    }
    this.#rest += text.slice(from);
  }

  #takeRest(): string {
    const rest = this.#rest;
    this.#rest = '';
    return rest;
  }

  #readLine(given: string): void {
    const line = this.#isFirst && given.startsWith('\uFEFF') ? given.slice(1) : given;
    this.#isFirst = false;
    if (line === '') return this.#dispatch();
    if (line.startsWith('data')) {
      const value = readValue(line, 'data');
      if (value !== undefined) this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
    } else if (line.startsWith('event')) this.#name = readValue(line, 'event') ?? this.#name;
  }

  #dispatch(): void {
    const [data, name] = [this.#data, this.#name];
    this.#data = undefined;
    this.#name = undefined;
    if (data !== undefined) this.#take(data, name);
  }
}

/** @returns undefined for a field whose name only begins with `field` */
function readValue(line: string, field: string): string | undefined {
  const at = field.length;
  if (line.length === at) return '';
  if (line[at] !== ':') return undefined;
  return line.slice(line[at + 1] === ' ' ? at + 2 : at + 1);
}
