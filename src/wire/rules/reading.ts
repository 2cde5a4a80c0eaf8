import type { z } from 'zod';
import type { Breach } from './rule.ts';
import type { BodyView, Position, ViewedCall, ViewedResult, ViewedText } from './view.ts';

type Seen = Pick<BodyView, 'calls' | 'results' | 'texts' | 'emptyLists' | 'malformed'>;

/** What one walk over a body of any shape has seen so far. A format's own reading adds what its own rules ask for. */
export class BodyReading {
  readonly calls: ViewedCall[] = [];
  readonly results: ViewedResult[] = [];
  readonly texts: ViewedText[] = [];
  readonly emptyLists: string[] = [];
  readonly #malformed: Breach[] = [];

  get seen(): Seen {
    const { calls, results, texts, emptyLists } = this;
    return { calls, results, texts, emptyLists, malformed: this.#malformed };
  }

  /**
   * Reads a value, or tells that it is not what has to stand there.
   * @param expected in words, where the schema's own would not be plain
   */
  read<T>(schema: z.ZodType<T>, value: unknown, path: string, expected?: string): T | undefined {
    const read = schema.safeParse(value);
    if (read.success) return read.data;
    const [issue] = read.error.issues;
    const place = expected === undefined ? [path, ...(issue?.path ?? []).map(String)] : [path];
    this.tell(place.filter((name) => name !== '').join('.'), expected ?? issue?.message ?? 'not readable');
    return undefined;
  }

  tell(path: string, message: string): void {
    this.#malformed.push({ path, message });
  }

  /** Content as all formats have it: a text, or a list of parts. */
  readContent(
    content: string | readonly unknown[],
    { path, position }: { readonly path: string; readonly position: Position },
    readPart: (part: unknown, path: string) => void,
  ): void {
    if (typeof content === 'string') this.texts.push({ path, text: content, position });
    else if (content.length === 0) this.emptyLists.push(path);
    else content.forEach((part, index) => readPart(part, `${path}[${index}]`));
  }
}
