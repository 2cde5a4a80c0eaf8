import { isAnswerKind, type TurnView } from '../../../domain/turn.ts';
import type { CallPart, PiecePart, ResultPart, TurnPart, Waiting } from '../../client/index.ts';
import { undecided } from '../front-end/call-names.ts';
import { type Mode, type PartOf, PartTable, type PartWriters } from '../front-end/part-table.ts';
import { nameMessage, writeInterrupt } from './message-names.ts';

export type AgUiEvent = { readonly type: string } & Readonly<Record<string, unknown>>;

export type AgUiMessage = { readonly id: string; readonly role: string } & Readonly<Record<string, unknown>>;

interface EventOptions {
  readonly threadId: string;
  readonly runId: string;
  /** Turn that the run shows: its own, or that of an earlier run, whose calls it answers. */
  readonly turn: string;
  readonly messages: readonly AgUiMessage[];
  /** Calls that the run answers. Its events begin behind the model step that made these calls. */
  readonly answered?: ReadonlySet<string>;
}

/** Converts the parts of a turn to events of AG-UI. Each run has its own table. */
export class EventTable extends PartTable<AgUiEvent> {
  readonly #options: EventOptions;
  /** Messages of all finished model steps, as the front-end shows them. */
  readonly #messages: AgUiMessage[];
  readonly #open = new Set<Mode>();
  /** Incomplete calls of the open model step, with the number of characters of their arguments that were sent. */
  readonly #calls = new Map<string, number>();
  #restarts = 0;
  #text = '';
  #reasoning = '';
  #complete: object[] = [];

  constructor(options: EventOptions) {
    super({ answered: options.answered });
    this.#options = options;
    this.#messages = [...options.messages];
  }

  protected readonly writers: PartWriters<AgUiEvent> = {
    text: (part) => this.#addPiece(part),
    reasoning: (part) => this.#addPiece(part),
    'tool-call-start': ({ step, call, name }) => [...this.enterStep(step), this.#startCall(call, name)],
    'tool-call-arguments': (part) => [...this.enterStep(part.step), this.#addArguments(part)],
    'tool-call': (part) => [...this.enterStep(part.step), ...this.#closeMessages(), ...this.#addCall(part)],
    'tool-result': (part) => [...this.finishStep(), this.#addResult(part)],
    progress: ({ call: toolCallId, text, done, total }) => [
      { type: 'CUSTOM', name: 'progress', value: { toolCallId, text, done, total } },
    ],
    // A value by the name `state` is the whole state that the front-end shares with the agent.
    data: ({ call: toolCallId, name, key, data }) =>
      name === 'state'
        ? [{ type: 'STATE_SNAPSHOT', snapshot: data }]
        : [{ type: 'CUSTOM', name, value: { toolCallId, ...(key !== undefined && { key }), data } }],
    steering: ({ turn, seq, content }) => {
      const finished = this.finishStep();
      // The front-end already has the message of its own run.
      return turn === this.#options.runId
        ? finished
        : [...finished, this.#addActivity('steering', seq, { turn, content })];
    },
    restart: ({ step }) => this.#restart(step),
    wait: ({ waiting }) => this.#addWait(waiting),
    behind: ({ turn, waiting }) => [this.#addBlock(turn, waiting)],
    // The front-end has the versions before the step that it answers.
    compaction: (part) => (this.isBeforeAnswer ? [] : [this.#addCompaction(part)]),
    end: ({ view }) => this.#end(view),
  };

  fail(code: string, message: string): AgUiEvent[] {
    this.isDone = true;
    return [...this.finishStep(), { type: 'RUN_ERROR', code, message }];
  }

  get messages(): readonly AgUiMessage[] {
    return this.#messages;
  }

  leave({ turn, state, failure }: TurnView): AgUiEvent[] {
    const ended = this.finishStep();
    if (state === 'completed') return ended;
    return [...ended, { type: 'CUSTOM', name: 'turn_ended', value: { turn, state, ...(failure && { failure }) } }];
  }

  /** Adds results of skipped steps that the front-end lacks. */
  protected override addKnown(part: TurnPart): AgUiEvent[] {
    if (part.type !== 'tool-result') return [];
    const isShown = this.#options.messages.some(({ toolCallId }) => toolCallId === part.call);
    return isShown ? [] : this.writers['tool-result'](part);
  }

  protected beginStep(step: number): AgUiEvent[] {
    return [{ type: 'STEP_STARTED', stepName: `step ${step}` }];
  }

  protected closeStep(step: number): AgUiEvent[] {
    const closed = [...this.#closeMessages(), ...this.#closeCalls()];
    if (this.#reasoning !== '') {
      this.#messages.push({ id: this.#idOf('reasoning'), role: 'reasoning', content: this.#reasoning });
    }
    if (this.#text !== '' || this.#complete.length > 0) {
      const calls = this.#complete.length > 0 && { toolCalls: this.#complete };
      this.#messages.push({ id: this.#idOf('text'), role: 'assistant', content: this.#text, ...calls });
    }
    this.#dropMessage();
    return [...closed, { type: 'STEP_FINISHED', stepName: `step ${step}` }];
  }

  #dropMessage(): void {
    this.#text = '';
    this.#reasoning = '';
    this.#complete = [];
  }

  #addPiece({ type, step, piece: delta }: PiecePart): AgUiEvent[] {
    const events = this.enterStep(step);
    const messageId = this.#idOf(type);
    if (type === 'text') this.#text += delta;
    else this.#reasoning += delta;
    const isOpen = this.#open.has(type);
    this.#open.add(type);
    if (type === 'text') {
      if (!isOpen) events.push({ type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' });
      return [...events, { type: 'TEXT_MESSAGE_CONTENT', messageId, delta }];
    }
    if (!isOpen) {
      events.push({ type: 'REASONING_START', messageId }, { type: 'REASONING_MESSAGE_START', messageId, role: type });
    }
    return [...events, { type: 'REASONING_MESSAGE_CONTENT', messageId, delta }];
  }

  /** Each attempt of a model step has messages of its own, because an ended message cannot begin again. */
  #idOf(mode: Mode): string {
    const attempt = this.#restarts === 0 ? '' : `.${this.#restarts}`;
    return nameMessage(this.#options.turn, `${mode === 'text' ? '' : 'reasoning.'}${this.step}${attempt}`);
  }

  #closeMessages(): AgUiEvent[] {
    const closed = [...this.#open].flatMap((mode) => {
      const messageId = this.#idOf(mode);
      if (mode === 'text') return [{ type: 'TEXT_MESSAGE_END', messageId }];
      return [
        { type: 'REASONING_MESSAGE_END', messageId },
        { type: 'REASONING_END', messageId },
      ];
    });
    this.#open.clear();
    return closed;
  }

  #addArguments({ call: toolCallId, piece: delta }: PartOf<'tool-call-arguments'>): AgUiEvent {
    this.#calls.set(toolCallId, (this.#calls.get(toolCallId) ?? 0) + delta.length);
    return { type: 'TOOL_CALL_ARGS', toolCallId, delta };
  }

  #startCall(toolCallId: string, toolCallName: string): AgUiEvent {
    this.#calls.set(toolCallId, 0);
    return { type: 'TOOL_CALL_START', toolCallId, toolCallName, parentMessageId: this.#idOf('text') };
  }

  #addCall({ call: toolCallId, name, arguments: written }: CallPart): AgUiEvent[] {
    const started = this.#calls.has(toolCallId) ? [] : [this.#startCall(toolCallId, name)];
    const delta = written.slice(this.#calls.get(toolCallId));
    this.#calls.delete(toolCallId);
    this.#complete.push({ id: toolCallId, type: 'function', function: { name, arguments: written } });
    const rest = delta === '' ? [] : [{ type: 'TOOL_CALL_ARGS', toolCallId, delta }];
    return [...started, ...rest, { type: 'TOOL_CALL_END', toolCallId }];
  }

  #addResult({ call: toolCallId, content }: ResultPart): AgUiEvent {
    const id = nameMessage(this.#options.turn, toolCallId);
    this.#messages.push({ id, role: 'tool', toolCallId, content });
    return { type: 'TOOL_CALL_RESULT', messageId: id, toolCallId, content };
  }

  #closeCalls(): AgUiEvent[] {
    const ended = [...this.#calls.keys()].map((toolCallId) => ({ type: 'TOOL_CALL_END', toolCallId }));
    this.#calls.clear();
    return ended;
  }

  /** Sends all messages without those of the open model step. */
  #restart(step: number): AgUiEvent[] {
    if (this.step !== 0 && step !== this.step) {
      return this.fail('conflict', 'Recorded steps of this turn were lost. Load the conversation again');
    }
    this.#dropMessage();
    const finished = this.finishStep();
    this.#restarts += 1;
    return [...finished, { type: 'MESSAGES_SNAPSHOT', messages: [...this.#messages] }];
  }

  #addCompaction({ version, tokensBefore, tokensAfter, archived }: PartOf<'compaction'>): AgUiEvent {
    return this.#addActivity('compaction', version, { version, before: tokensBefore, after: tokensAfter, archived });
  }

  #addActivity(activityType: 'compaction' | 'steering', number: number, content: object): AgUiEvent {
    const id = nameMessage(this.#options.turn, `${activityType}.${number}`);
    this.#messages.push({ id, role: 'activity', activityType, content });
    return { type: 'ACTIVITY_SNAPSHOT', messageId: id, activityType, content };
  }

  #addWait(waiting: Waiting): AgUiEvent[] {
    const { for: kind, until } = waiting;
    if (!isAnswerKind(kind)) return [{ type: 'CUSTOM', name: 'waiting', value: { for: kind, until } }];
    const type = kind === 'approval' ? 'interrupt' : 'success';
    return this.#finish({ outcome: { type, ...writeOpenCalls(this.#options.turn, waiting) } });
  }

  #addBlock(behind: string, waiting: Waiting): AgUiEvent {
    const { for: kind, until } = waiting;
    const value = { for: kind, until, behind, ...writeOpenCalls(behind, waiting) };
    return { type: 'CUSTOM', name: 'waiting', value };
  }

  #end(view: TurnView): AgUiEvent[] {
    switch (view.state) {
      case 'completed':
        return this.#finish({ outcome: { type: 'success' }, ...(view.usage && { usage: [view.usage] }) });
      case 'failed':
        return this.fail(view.failure.code, view.failure.message);
      case 'canceled':
        return this.#finish({ outcome: { type: 'cancelled' } });
      default:
        return this.fail('timeout', `the turn is ${view.state}`);
    }
  }

  #finish(end: object): AgUiEvent[] {
    this.isDone = true;
    const { threadId, runId } = this.#options;
    return [...this.finishStep(), { type: 'RUN_FINISHED', threadId, runId, ...end }];
  }
}

function writeOpenCalls(turn: string, { for: kind, calls }: Waiting): object {
  const open = undecided(calls);
  if (kind === 'approval') return { interrupts: open.map((call) => writeInterrupt(turn, call)) };
  return { pendingToolCallIds: open.map(({ id }) => id) };
}
