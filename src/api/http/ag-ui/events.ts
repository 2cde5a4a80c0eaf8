import type { TurnView } from '../../../domain/turn.ts';
import type { CallPart, CallPreviewPart, PiecePart, TurnPart } from '../../client/index.ts';
import { undecided } from '../front-end/call-names.ts';
import { nameMessage, writeInterrupt } from './message-names.ts';

export type AgUiEvent = { readonly type: string } & Readonly<Record<string, unknown>>;

export type AgUiMessage = { readonly id: string; readonly role: string } & Readonly<Record<string, unknown>>;

interface EventOptions {
  readonly threadId: string;
  readonly runId: string;
  /** Turn that the run shows. A run that answers calls continues the turn of an earlier run. */
  readonly turn: string;
  readonly messages: readonly AgUiMessage[];
  /** Calls that the run answers. Its events begin behind the step that made these calls. */
  readonly answered?: ReadonlySet<string>;
}

type Mode = 'text' | 'reasoning';

/**
 * Converts the parts of a turn to events of AG-UI. Each run has its own instance. The run is over once `isDone` is
 * true.
 */
export class EventTable {
  readonly #options: EventOptions;
  /** Messages of all finished steps, as the front-end shows them. */
  readonly #messages: AgUiMessage[];
  readonly #open = new Set<Mode>();
  /** Calls of the open step, with the number of characters sent of their arguments. */
  readonly #calls = new Map<string, number>();
  #step = 0;
  #restarts = 0;
  #text = '';
  #reasoning = '';
  #complete: object[] = [];
  #mutedStep: number;
  isDone = false;

  constructor(options: EventOptions) {
    this.#options = options;
    this.#messages = [...options.messages];
    this.#mutedStep = options.answered === undefined ? 0 : Number.POSITIVE_INFINITY;
  }

  add(part: TurnPart): AgUiEvent[] {
    if (part.type === 'tool-call' && this.#options.answered?.has(part.call) === true) this.#mutedStep = part.step;
    if (this.#isMuted(part)) return [];
    switch (part.type) {
      case 'text':
      case 'reasoning':
        return this.#addPiece(part);
      case 'tool-call-start':
      case 'tool-call-arguments':
        return [...this.#enterStep(part.step), ...this.#addPreview(part)];
      case 'tool-call':
        return [...this.#enterStep(part.step), ...this.#closeMessages(), ...this.#addCall(part)];
      case 'tool-result': {
        const { call: toolCallId, content } = part;
        const id = nameMessage(this.#options.turn, toolCallId);
        const finished = this.#finishStep();
        this.#messages.push({ id, role: 'tool', toolCallId, content });
        return [...finished, { type: 'TOOL_CALL_RESULT', messageId: id, toolCallId, content }];
      }
      case 'restart':
        return this.#restart(part.step);
      case 'wait':
        return this.#addWait(part);
      case 'behind':
        return [this.#addBlock(part)];
      case 'compaction':
        return [this.#addCompaction(part)];
      case 'steering':
        // The front-end already has the message of its own run.
        if (part.turn === this.#options.runId) return this.#finishStep();
        return [
          ...this.#finishStep(),
          this.#addActivity('steering', part.seq, { turn: part.turn, content: part.content }),
        ];
      case 'end':
        return this.#end(part.view);
    }
  }

  fail(code: string, message: string): AgUiEvent[] {
    this.isDone = true;
    return [...this.#finishStep(), { type: 'RUN_ERROR', code, message }];
  }

  get messages(): readonly AgUiMessage[] {
    return this.#messages;
  }

  leave({ turn, state, failure }: TurnView): AgUiEvent[] {
    const ended = this.#finishStep();
    if (state === 'completed') return ended;
    return [...ended, { type: 'CUSTOM', name: 'turn_ended', value: { turn, state, ...(failure && { failure }) } }];
  }

  /** True for a part that the front-end already has, because the run continues a turn. */
  #isMuted(part: TurnPart): boolean {
    const { messages, answered } = this.#options;
    if (answered === undefined) return false;
    if (!('step' in part)) return part.type === 'compaction' && !Number.isFinite(this.#mutedStep);
    if (part.step > this.#mutedStep) return false;
    return part.type !== 'tool-result' || messages.some((message) => message['toolCallId'] === part.call);
  }

  #enterStep(step: number): AgUiEvent[] {
    if (step === this.#step) return [];
    const finished = this.#finishStep();
    this.#step = step;
    return [...finished, { type: 'STEP_STARTED', stepName: `step ${step}` }];
  }

  #finishStep(): AgUiEvent[] {
    if (this.#step === 0) return [];
    const stepName = `step ${this.#step}`;
    const closed = [...this.#closeMessages(), ...this.#closeCalls(), { type: 'STEP_FINISHED', stepName }];
    if (this.#reasoning !== '') {
      this.#messages.push({ id: this.#idOf('reasoning'), role: 'reasoning', content: this.#reasoning });
    }
    if (this.#text !== '' || this.#complete.length > 0) {
      const calls = this.#complete.length > 0 && { toolCalls: this.#complete };
      this.#messages.push({ id: this.#idOf('text'), role: 'assistant', content: this.#text, ...calls });
    }
    this.#forgetStep();
    return closed;
  }

  #forgetStep(): void {
    this.#step = 0;
    this.#text = '';
    this.#reasoning = '';
    this.#complete = [];
  }

  #addPiece({ type, step, piece: delta }: PiecePart): AgUiEvent[] {
    const events = this.#enterStep(step);
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

  /** Names a message. Each attempt of a step has its own messages, because an ended message cannot begin again. */
  #idOf(mode: Mode): string {
    const attempt = this.#restarts === 0 ? '' : `.${this.#restarts}`;
    return nameMessage(this.#options.turn, `${mode === 'text' ? '' : 'reasoning.'}${this.#step}${attempt}`);
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

  #addPreview(part: CallPreviewPart): AgUiEvent[] {
    if (part.type === 'tool-call-start') return [this.#startCall(part.call, part.name)];
    this.#calls.set(part.call, (this.#calls.get(part.call) ?? 0) + part.piece.length);
    return [{ type: 'TOOL_CALL_ARGS', toolCallId: part.call, delta: part.piece }];
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

  #closeCalls(): AgUiEvent[] {
    const ended = [...this.#calls.keys()].map((toolCallId) => ({ type: 'TOOL_CALL_END', toolCallId }));
    this.#calls.clear();
    return ended;
  }

  /** Sends a snapshot of the messages without the parts of the open step. */
  #restart(step: number): AgUiEvent[] {
    if (step < this.#step || (step > this.#step && this.#step !== 0)) {
      return this.fail('conflict', 'Recorded steps of this turn were lost. Load the conversation again');
    }
    const closed = [...this.#closeMessages(), ...this.#closeCalls()];
    const finished = this.#step === 0 ? [] : [{ type: 'STEP_FINISHED', stepName: `step ${step}` }];
    this.#forgetStep();
    this.#restarts += 1;
    return [...closed, ...finished, { type: 'MESSAGES_SNAPSHOT', messages: [...this.#messages] }];
  }

  #addCompaction({ version, tokensBefore, tokensAfter, archived }: Extract<TurnPart, { type: 'compaction' }>) {
    return this.#addActivity('compaction', version, { version, before: tokensBefore, after: tokensAfter, archived });
  }

  #addActivity(activityType: 'compaction' | 'steering', number: number, content: object): AgUiEvent {
    const id = nameMessage(this.#options.turn, `${activityType}.${number}`);
    this.#messages.push({ id, role: 'activity', activityType, content });
    return { type: 'ACTIVITY_SNAPSHOT', messageId: id, activityType, content };
  }

  #addWait({ waiting }: Extract<TurnPart, { type: 'wait' }>): AgUiEvent[] {
    const { for: kind, until } = waiting;
    const calls = undecided(waiting.calls);
    if (kind === 'approval') {
      const interrupts = calls.map((call) => writeInterrupt(this.#options.turn, call));
      return this.#finish({ outcome: { type: 'interrupt', interrupts } });
    }
    if (kind === 'tools') {
      return this.#finish({ outcome: { type: 'success', pendingToolCallIds: calls.map(({ id }) => id) } });
    }
    return [{ type: 'CUSTOM', name: 'waiting', value: { for: kind, until } }];
  }

  #addBlock({ turn, waiting }: Extract<TurnPart, { type: 'behind' }>): AgUiEvent {
    const { for: kind, until } = waiting;
    const calls = undecided(waiting.calls);
    const open =
      kind === 'approval'
        ? { interrupts: calls.map((call) => writeInterrupt(turn, call)) }
        : { pendingToolCallIds: calls.map(({ id }) => id) };
    return { type: 'CUSTOM', name: 'waiting', value: { for: kind, until, behind: turn, ...open } };
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
    return [...this.#finishStep(), { type: 'RUN_FINISHED', threadId, runId, ...end }];
  }
}
