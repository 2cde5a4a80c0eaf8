import { createInterface, type Interface } from 'node:readline';

interface PromptOptions {
  readonly input: NodeJS.ReadableStream;
  /** Terminal that echoes the input. Absent: no prompt is shown. */
  readonly output?: NodeJS.WritableStream;
  readonly signal?: AbortSignal;
  /** Called for Ctrl-C, which Node's readline consumes before it becomes a signal. */
  readonly onInterrupt: () => void;
}

interface Question {
  /** Text before the input. It must be a constant, because readline does not escape the text. */
  readonly prompt: string;
  readonly signal?: AbortSignal | undefined;
  /** Ignores lines that were typed before the question. */
  readonly isFresh?: boolean;
}

export class Prompt {
  readonly isTerminal: boolean;
  readonly #lines: Interface;
  readonly #typed: string[] = [];
  #take: ((line: string | undefined) => void) | undefined;
  #isOpen = true;

  constructor({ input, output, signal, onInterrupt }: PromptOptions) {
    this.isTerminal = output !== undefined;
    this.#lines = createInterface({
      input,
      ...(output && { output, terminal: true }),
      ...(signal && { signal }),
    });
    this.#lines.on('SIGINT', onInterrupt);
    this.#lines.on('line', (line) => {
      if (this.#take === undefined) this.#typed.push(line);
      else this.#take(line);
    });
    this.#lines.once('close', () => {
      this.#isOpen = false;
      this.#take?.(undefined);
    });
  }

  /** @returns the next line, or undefined if the input has ended or the question was withdrawn */
  async ask({ prompt, signal, isFresh = false }: Question): Promise<string | undefined> {
    if (isFresh && this.isTerminal) this.#typed.length = 0;
    const typed = this.#typed.shift();
    if (typed !== undefined) return typed;
    if (!this.#isOpen || signal?.aborted === true) return undefined;
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    const withdraw = (): void => resolve(undefined);
    this.#take = resolve;
    signal?.addEventListener('abort', withdraw);
    if (this.isTerminal) {
      this.#lines.setPrompt(prompt);
      this.#lines.prompt();
    }
    try {
      return await promise;
    } finally {
      this.#take = undefined;
      signal?.removeEventListener('abort', withdraw);
    }
  }

  showAgain(): void {
    if (this.isTerminal && this.#take !== undefined) this.#lines.prompt(true);
  }

  close(): void {
    this.#lines.close();
  }
}
