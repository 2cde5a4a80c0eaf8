import type { CallAnswer, TurnContext, TurnPart, Waiting, WaitingCall } from '../../api/client/index.ts';
import { isTurnfoldError } from '../../domain/errors.ts';
import { isAnswerKind } from '../../domain/turn.ts';
import { type Output, reportError } from '../output.ts';
import type { ClientContext } from '../run-command.ts';
import { describeCall, describeState, TurnPage } from '../turn-text.ts';
import type { Prompt } from './prompt.ts';
import { findSlashCommand, HELP, LEAVE } from './slash-commands.ts';

interface TalkOptions extends ClientContext {
  readonly agent: string;
  readonly conversation: string;
  readonly context?: TurnContext | undefined;
  /** Aborts at SIGTERM or SIGINT. */
  readonly interrupted: AbortSignal;
}

interface OpenTurn {
  readonly turn: string;
  /** Aborts the questions about the calls of this turn. */
  readonly canceling: AbortController;
}

export class Talk {
  readonly #options: TalkOptions;
  readonly #output: Output;
  readonly #leaving = new AbortController();
  #open: OpenTurn | undefined;
  /** True after a first Ctrl-C. The next Ctrl-C quits. */
  #isWarned = false;
  #prompt: Prompt | undefined;

  constructor(options: TalkOptions) {
    this.#options = options;
    this.#output = options.output;
  }

  async run(prompt: Prompt): Promise<void> {
    this.#prompt = prompt;
    const { agent, interrupted } = this.#options;
    await this.#attempt(() => this.#resumeOpenTurn());
    while (!this.#hasLeft()) {
      const line = (await prompt.ask({ prompt: `${agent}> `, signal: interrupted }))?.trim();
      if (line === undefined || line === LEAVE) return;
      this.#isWarned = false;
      if (line !== '') await this.#attempt(() => this.#answer(line));
    }
  }

  /** The first Ctrl-C cancels the running turn, or warns if none is running. The second one ends `turnfold dev`. */
  interrupt(): void {
    const open = this.#open;
    if (this.#isWarned || (open === undefined && this.#prompt?.isTerminal !== true)) {
      this.#leave();
      return;
    }
    this.#isWarned = true;
    if (open === undefined) {
      this.#output.note(`\n(press Ctrl-C again or Ctrl-D, or type ${LEAVE}, to quit)`);
      this.#prompt?.showAgain();
      return;
    }
    this.#output.note('\n(canceling the turn, press Ctrl-C again to quit)');
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

  /** Continues the chat after an error. Errors after the person has quit are ignored, because quitting causes them. */
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
    const command = findSlashCommand(line);
    if (command === undefined) this.#output.line(`unknown command ${line}. Type ${HELP} for the list of commands`);
    else await command(this.#options, conversation);
  }

  /** Follows a turn that is still open from an earlier chat. Such a turn would silently block all new turns. */
  async #resumeOpenTurn(): Promise<void> {
    const { client, conversation } = this.#options;
    const open = await client.openTurns(conversation, { limit: 1 }).catch((error: unknown) => {
      if (isTurnfoldError(error, 'not_found')) return undefined;
      throw error;
    });
    const [first] = open?.turns ?? [];
    if (first === undefined || first.state === 'scheduled') return;
    this.#output.line(`an earlier turn is still open: ${describeState(first)}`);
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
        if (part.type === 'end' || this.#hasLeft()) return;
      }
    } finally {
      this.#open = undefined;
    }
  }

  async #show(part: TurnPart, page: TurnPage, open: OpenTurn): Promise<void> {
    if (part.type === 'end') page.end(part.view);
    else if (part.type !== 'wait' && part.type !== 'behind') page.add(part);
    else {
      page.breakLine();
      // A turn of another client may stand in front of this turn and wait for answers.
      await this.#askAnswers(part.waiting, part.type === 'behind' ? { ...open, turn: part.turn } : open);
    }
  }

  /** Asks for answers. While the turn waits for compaction or a retry, nothing can be answered. */
  async #askAnswers(waiting: Waiting, { turn, canceling: { signal } }: OpenTurn): Promise<void> {
    const { client, conversation } = this.#options;
    if (!isAnswerKind(waiting.for)) {
      this.#output.note(`(${describeState({ turn, state: 'waiting', waiting })})`);
      return;
    }
    for (const call of waiting.calls.filter(({ decision }) => decision === undefined)) {
      this.#output.line(describeCall(call));
      const answer = await (waiting.for === 'approval' ? this.#askDecision(signal) : this.#askResult(call, signal));
      if (signal.aborted) return;
      if (answer === undefined) {
        this.#leave();
        return;
      }
      const answers = { [call.id]: { ...answer, hash: call.hash } };
      await this.#attempt(async () => void (await client.answer(conversation, turn, answers)));
    }
  }

  /** @returns undefined if the input has ended or the turn is canceled */
  async #askDecision(signal: AbortSignal): Promise<CallAnswer | undefined> {
    for (;;) {
      const line = await this.#prompt?.ask({ prompt: 'Allow this call? y/n ', signal, isFresh: true });
      const typed = line?.trim().toLowerCase();
      if (typed === undefined || typed === LEAVE) return undefined;
      this.#isWarned = false;
      if (typed === 'y' || typed === 'yes') return { approved: true };
      if (typed === 'n' || typed === 'no') return { approved: false };
      this.#output.note('type y to allow the call or n to deny it');
    }
  }

  /** @returns undefined if the input has ended or the turn is canceled */
  async #askResult({ name }: WaitingCall, signal: AbortSignal): Promise<CallAnswer | undefined> {
    for (;;) {
      const line = await this.#prompt?.ask({ prompt: 'Result of this call? ', signal, isFresh: true });
      if (line === undefined || line.trim() === LEAVE) return undefined;
      this.#isWarned = false;
      if (line !== '') return { content: line };
      this.#output.note(`${name} runs outside turnfold: type the result that it would return`);
    }
  }
}
