/** Reads requests from pieces of bytes: each is a list of texts (`*2\r\n$3\r\nGET\r\n$1\r\na\r\n`). */
export class RequestReader {
  /** Bytes that are not read yet, as latin1. */
  #text = '';
  #at = 0;

  /** @throws Error if the bytes are no request */
  *read(bytes: Buffer): Generator<string[]> {
    this.#text = this.#text.slice(this.#at) + bytes.toString('latin1');
    this.#at = 0;
    for (let request = this.#next(); request !== undefined; request = this.#next()) yield request;
  }

  /** @returns undefined if the request is not complete yet */
  #next(): string[] | undefined {
    const start = this.#at;
    const count = this.#readLength('*');
    const parts: string[] = [];
    for (let part = 0; part < (count ?? 0); part += 1) {
      const length = this.#readLength('$');
      if (length === undefined || this.#text.length < this.#at + length + 2) break;
      parts.push(this.#text.slice(this.#at, this.#at + length));
      this.#at += length + 2;
    }
    if (count !== undefined && parts.length === count) return parts;
    this.#at = start;
    return undefined;
  }

  #readLength(mark: '*' | '$'): number | undefined {
    const end = this.#text.indexOf('\r\n', this.#at);
    if (end === -1) return undefined;
    const line = this.#text.slice(this.#at, end);
    if (!line.startsWith(mark) || !/^\d+$/.test(line.slice(1))) throw new Error(`no request of Redis: ${line}`);
    this.#at = end + 2;
    return Number(line.slice(1));
  }
}
