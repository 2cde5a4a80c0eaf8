import type { FailedTurnView, TurnView, WaitingCall } from '../../../domain/turn.ts';
import type { TurnUsage } from '../../client/index.ts';
import { PartTable, type PartWriters } from '../front-end/part-table.ts';
import { type ResponseName, writeCallId } from '../responses/response-names.ts';

export const CHAT_ENDS = ['stop', 'length', 'tool_calls', 'content_filter'] as const;
type ChatEnd = (typeof CHAT_ENDS)[number];

/** Fields of a message that grow, as a chunk has them. */
export interface ChatDelta {
  readonly role?: 'assistant';
  readonly content?: string;
  readonly reasoning_content?: string;
  readonly tool_calls?: readonly object[];
}

const writeNothing = (): ChatDelta[] => [];

/** Space between the texts of two steps, which are one message for the client. */
const BETWEEN_STEPS = '\n\n';

/**
 * Converts the parts of a turn to a message of Chat Completions. The API has no form for what a worker does within a
 * turn, so the texts of all steps are one text. A text that was sent cannot be taken back: if a step begins again, its
 * new text follows the old one.
 */
export class ChatTable extends PartTable<ChatDelta> {
  readonly #name: ResponseName;
  #text = '';
  #reasoning = '';
  #stepText = '';
  /** Text before the open step. */
  #kept = '';
  #calls: object[] = [];
  end: ChatEnd | undefined;
  failure: FailedTurnView['failure'] | undefined;
  usage: TurnUsage | undefined;
  /** True if a step began again after a part of its text. */
  isBroken = false;

  constructor(name: ResponseName) {
    super({ answered: name.answered === undefined ? undefined : new Set([name.answered]) });
    this.#name = name;
  }

  get message(): object {
    return {
      role: 'assistant',
      content: this.#text === '' && this.#calls.length > 0 ? null : this.#text,
      refusal: null,
      ...(this.#reasoning !== '' && { reasoning_content: this.#reasoning }),
      ...(this.#calls.length > 0 && { tool_calls: this.#calls }),
    };
  }

  protected readonly writers: PartWriters<ChatDelta> = {
    text: (part) => [...this.enterStep(part.step), ...this.#addText(part.piece)],
    reasoning: (part) => [...this.enterStep(part.step), ...this.#addReasoning(part.piece)],
    'tool-call-start': writeNothing,
    'tool-call-arguments': writeNothing,
    'tool-call': writeNothing,
    'tool-result': writeNothing,
    progress: writeNothing,
    data: writeNothing,
    steering: writeNothing,
    restart: () => {
      this.isBroken ||= this.#stepText !== '';
      this.#stepText = '';
      this.#text = this.#kept;
      return [];
    },
    wait: ({ waiting }) => this.#addWait(waiting.for, waiting.calls),
    behind: writeNothing,
    compaction: writeNothing,
    end: ({ view }) => this.#end(view),
  };

  protected beginStep(): ChatDelta[] {
    this.#stepText = '';
    this.#kept = this.#text;
    return [];
  }

  protected closeStep(): ChatDelta[] {
    return [];
  }

  #addText(piece: string): ChatDelta[] {
    const isFirst = this.#stepText === '';
    this.#stepText += piece;
    this.#text += (isFirst && this.#text !== '' ? BETWEEN_STEPS : '') + piece;
    const content = (isFirst && (this.isBroken || this.#text !== piece) ? BETWEEN_STEPS : '') + piece;
    return [{ content }];
  }

  #addReasoning(piece: string): ChatDelta[] {
    this.#reasoning += piece;
    return [{ reasoning_content: piece }];
  }

  #addWait(kind: string, calls: readonly WaitingCall[]): ChatDelta[] {
    if (kind === 'approval') return this.#refuseApproval(calls);
    if (kind !== 'tools') return [];
    this.isDone = true;
    this.end = 'tool_calls';
    return calls
      .filter(({ decision }) => decision === undefined)
      .map((call, index) => {
        const written = {
          id: writeCallId('call', this.#name, call),
          type: 'function',
          function: { name: call.name, arguments: call.arguments },
        };
        this.#calls.push(written);
        return { tool_calls: [{ index, ...written }] };
      });
  }

  /** The API has no form for a decision. The text names the calls, and a person decides elsewhere. */
  #refuseApproval(calls: readonly WaitingCall[]): ChatDelta[] {
    this.isDone = true;
    this.end = 'stop';
    const names = calls.map(({ name }) => name).join(', ');
    return this.#addText(`${this.#stepText === '' ? '' : BETWEEN_STEPS}[Waits for approval: ${names}]`);
  }

  #end(view: TurnView): ChatDelta[] {
    this.isDone = true;
    this.usage = view.usage;
    if (view.state === 'failed') this.failure = view.failure;
    else if (view.state === 'waiting') return this.#addWait(view.waiting.for, view.waiting.calls);
    else if (view.state === 'completed') this.end = ENDS[view.answer.end ?? 'stop'];
    else this.end = 'stop';
    return [];
  }
}

const ENDS = { stop: 'stop', cut_off: 'length', refusal: 'content_filter' } as const;
