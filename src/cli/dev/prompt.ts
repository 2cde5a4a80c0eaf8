import { createInterface, type Interface } from 'node:readline';

export interface PromptOptions {
  readonly input: NodeJS.ReadableStream;
  /** where a person sees prompts and what they type; absent: the input is no terminal, so no prompt is shown */
  readonly output?: NodeJS.WritableStream;
  /** closes the prompt */
  readonly signal?: AbortSignal;
  /** Ctrl-C at the terminal: readline takes it before it becomes a signal */
  readonly onInterrupt: () => void;
}

interface Question {
  /** a constant: it goes to the terminal as it is */
  readonly prompt: string;
  /** gives the question up */
  readonly signal?: AbortSignal | undefined;
  /** at a terminal, lines that were typed before the question do not answer it */
  readonly isFresh?: boolean;
}

/** Lines of an input, one for each question. Owns the readline interface. */
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

  /** The next line; undefined if the input has ended or the question was given up. */
  async ask({ prompt, signal, isFresh = false }: Question): Promise<string | undefined> {
    if (isFresh && this.isTerminal) this.#typed.length = 0;
    const typed = this.#typed.shift();
    if (typed !== undefined) return typed;
    if (!this.#isOpen || signal?.aborted === true) return undefined;
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    const giveUp = (): void => resolve(undefined);
    this.#take = resolve;
    signal?.addEventListener('abort', giveUp);
    if (this.isTerminal) {
      this.#lines.setPrompt(prompt);
      this.#lines.prompt();
    }
    try {
      return await promise;
    } finally {
      this.#take = undefined;
      signal?.removeEventListener('abort', giveUp);
    }
  }

  /** Shows the prompt again, behind what was printed since. */
  showAgain(): void {
    if (this.isTerminal && this.#take !== undefined) this.#lines.prompt(true);
  }

  close(): void {
    this.#lines.close();
  }
}
