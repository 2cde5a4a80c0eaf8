import { createInterface, type Interface } from 'node:readline';

export interface PromptOptions {
  readonly input: NodeJS.ReadableStream;
  /** Terminal that echoes the input. Absent if there is no terminal: then no prompt is shown. */
  readonly output?: NodeJS.WritableStream;
  readonly signal?: AbortSignal;
  /** Called for Ctrl-C at the terminal. Node's readline consumes Ctrl-C before it becomes a signal. */
  readonly onInterrupt: () => void;
}

interface Question {
  /** Text of the prompt. The text must be a constant, because readline does not escape it. */
  readonly prompt: string;
  readonly signal?: AbortSignal | undefined;
  /** If true, lines that were typed at the terminal before the question are ignored. */
  readonly isFresh?: boolean;
}

/** Asks questions and reads one line for each answer. Owns the readline interface. */
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

  /** Asks a question. @returns the next line, or undefined if the input has ended or the question was withdrawn */
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

  /** Shows the prompt again after other output. */
  showAgain(): void {
    if (this.isTerminal && this.#take !== undefined) this.#lines.prompt(true);
  }

  close(): void {
    this.#lines.close();
  }
}
