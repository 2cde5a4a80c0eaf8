import type { CallAnswer, TurnContext, TurnProgress, Waiting, WaitingCall } from '../../client/index.ts';
import { isTurnfoldError } from '../../domain/errors.ts';
import { isAnswerKind } from '../../domain/turn.ts';
import { type Output, reportError } from '../output.ts';
import { describeCall, describeState, TurnPage } from '../turn-text.ts';
import type { CommandContext } from '../with-client.ts';
import type { Prompt } from './prompt.ts';
import { findInside, HELP, LEAVE } from './slash-commands.ts';

export interface TalkOptions extends CommandContext {
  readonly agent: string;
  readonly conversation: string;
  /** of each turn */
  readonly context?: TurnContext;
  /** aborts when the process is told to stop */
  readonly interrupted: AbortSignal;
}

interface OpenTurn {
  readonly turn: string;
  /** aborts the questions about its calls */
  readonly canceling: AbortController;
}

/** One person and one agent. Owns the turn that is followed, and knows what Ctrl-C means at each moment. */
export class Talk {
  readonly #options: TalkOptions;
  readonly #output: Output;
  /** the person has left: nothing is followed any more */
  readonly #leaving = new AbortController();
  #open: OpenTurn | undefined;
  /** the next Ctrl-C leaves */
  #isWarned = false;
  #prompt: Prompt | undefined;

  constructor(options: TalkOptions) {
    this.#options = options;
    this.#output = options.output;
  }

  /** Answers lines until the person leaves. */
  async run(prompt: Prompt): Promise<void> {
    this.#prompt = prompt;
    const { agent, interrupted } = this.#options;
    await this.#attempt(() => this.#goOnWithOpenTurn());
    while (!this.#hasLeft()) {
      const line = (await prompt.ask({ prompt: `${agent}> `, signal: interrupted }))?.trim();
      if (line === undefined || line === LEAVE) return;
      this.#isWarned = false;
      if (line !== '') await this.#attempt(() => this.#answer(line));
    }
  }

  /** Ctrl-C: cancels the turn. A second one, or one without a turn at a prompt that warned, leaves. */
  interrupt(): void {
    const open = this.#open;
    if (this.#isWarned || (open === undefined && this.#prompt?.isTerminal !== true)) {
      this.#leave();
      return;
    }
    this.#isWarned = true;
    if (open === undefined) {
      this.#output.note(`\n(Ctrl-C again, Ctrl-D or ${LEAVE} ends)`);
      this.#prompt?.showAgain();
      return;
    }
    this.#output.note('\n(canceling the turn; Ctrl-C again ends)');
    open.canceling.abort();
    const { client, conversation } = this.#options;
    client.cancel(conversation, open.turn).catch((error: unknown) => reportError(this.#output, error));
  }

  #leave(): void {
    this.#leaving.abort();
    this.#open?.canceling.abort();
    this.#prompt?.close();
  }

  #hasLeft(): boolean {
    return this.#leaving.signal.aborted || this.#options.interrupted.aborted;
  }

  /** What fails is reported, and the next line is asked for. What fails because the person leaves is no failure. */
  async #attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!this.#hasLeft()) reportError(this.#output, error);
    }
  }

  async #answer(line: string): Promise<void> {
    const { client, agent, conversation, context } = this.#options;
    if (!line.startsWith('/')) {
      const { turn } = await client.enqueueTurn({ conversation, agent, input: line, context });
      await this.#follow(turn);
      return;
    }
    const look = findInside(line);
    if (look === undefined) this.#output.line(`no such command: ${line}; ${HELP} lists them`);
    else await look(this.#options, conversation);
  }

  /** A turn that an earlier talk left open would keep all later ones waiting, silently. */
  async #goOnWithOpenTurn(): Promise<void> {
    const { client, conversation } = this.#options;
    const open = await client.openTurns(conversation, { limit: 1 }).catch((error: unknown) => {
      if (isTurnfoldError(error, 'not_found')) return undefined;
      throw error;
    });
    const [first] = open?.turns ?? [];
    if (first === undefined || first.state === 'scheduled') return;
    this.#output.line(`an earlier turn is open: ${describeState(first)}`);
    await this.#follow(first.turn);
  }

  async #follow(turn: string): Promise<void> {
    const open = { turn, canceling: new AbortController() };
    this.#open = open;
    const page = new TurnPage(this.#output);
    const signal = AbortSignal.any([this.#leaving.signal, this.#options.interrupted]);
    try {
      for await (const part of this.#options.client.stream(this.#options.conversation, turn, { signal })) {
        await this.#show(part, page, open);
        if (part.type === 'result' || this.#hasLeft()) return;
      }
    } finally {
      this.#open = undefined;
    }
  }

  async #show(part: TurnProgress, page: TurnPage, open: OpenTurn): Promise<void> {
    if (part.type === 'result') page.end(part.view);
    else if (part.type !== 'waiting') page.add(part);
    else {
      page.breakLine();
      await this.#bringAnswers(part.waiting, open);
    }
  }

  /** Asks for what the turn waits for, call after call; what comes by itself is only named. */
  async #bringAnswers(waiting: Waiting, { turn, canceling: { signal } }: OpenTurn): Promise<void> {
    const { client, conversation } = this.#options;
    if (!isAnswerKind(waiting.for)) {
      this.#output.note(`(${describeState({ turn, state: 'waiting', waiting })})`);
      return;
    }
    for (const call of waiting.calls) {
      this.#output.line(describeCall(call));
      const answer = await (waiting.for === 'approval' ? this.#askDecision(signal) : this.#askResult(call, signal));
      if (signal.aborted) return;
      if (answer === undefined) {
        this.#leave();
        return;
      }
      await this.#attempt(async () => void (await client.answer(conversation, turn, { [call.id]: answer })));
    }
  }

  /** Undefined: the input has ended, or the turn is canceled. */
  async #askDecision(signal: AbortSignal): Promise<CallAnswer | undefined> {
    for (;;) {
      const line = await this.#prompt?.ask({ prompt: 'allow it? y/n ', signal, isFresh: true });
      const typed = line?.trim().toLowerCase();
      if (typed === undefined || typed === LEAVE) return undefined;
      this.#isWarned = false;
      if (typed === 'y' || typed === 'yes') return { approved: true };
      if (typed === 'n' || typed === 'no') return { approved: false };
      this.#output.note('y allows the call, n denies it');
    }
  }

  /** Undefined: the input has ended, or the turn is canceled. */
  async #askResult({ name }: WaitingCall, signal: AbortSignal): Promise<CallAnswer | undefined> {
    for (;;) {
      const line = await this.#prompt?.ask({ prompt: 'its result? ', signal, isFresh: true });
      if (line === undefined || line.trim() === LEAVE) return undefined;
      this.#isWarned = false;
      if (line !== '') return { content: line };
      this.#output.note(`${name} is answered from outside: type what it answers`);
    }
  }
}
