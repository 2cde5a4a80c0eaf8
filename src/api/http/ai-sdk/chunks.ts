import { isSettled, type RecordedDecision, type TurnUsage, type WaitingCall } from '../../../domain/turn.ts';
import type { CallPart, ResultPart, SteeringPart, TurnPart, TurnView, Waiting } from '../../client/index.ts';
import { nameWaitingCall, readJsonOrText, undecided } from '../front-end/call-names.ts';
import { type Mode, type PartOf, PartTable, type PartWriters } from '../front-end/part-table.ts';
import type { TableState } from './chunk-position.ts';
import { addData, addProgress, showOutput } from './note-chunks.ts';

export const SDK_VERSIONS = [5, 6, 7] as const;
export type SdkVersion = (typeof SDK_VERSIONS)[number];

/** A page refuses chunks of unknown type: only AI SDK 7 knows `reset-step`, and only 6 and 7 know approvals. */
export type Chunk = { readonly type: string } & Readonly<Record<string, unknown>>;

/** Metadata of an answer. In the stream and in the history, both come from the view of its turn. */
export interface AnswerMetadata {
  /** Time at which the user's message was accepted, in ms since epoch. */
  readonly acceptedAt: number;
  /** Time at which the turn ended, in ms since epoch. */
  readonly settledAt?: number;
  /** Tokens and price of all model calls of the turn. Absent if no provider reported usage. */
  readonly usage?: TurnUsage;
  /** True if the turn was canceled while the model wrote the last part. */
  readonly stopped?: true;
  /** True if the turn was canceled. */
  readonly canceled?: true;
  /** Why the turn failed. `regenerate` tries again. */
  readonly failed?: { readonly code: string; readonly message: string };
}

export function describeAnswer(view: TurnView): AnswerMetadata {
  const { acceptedAt, settledAt, usage, state } = view;
  return {
    acceptedAt,
    ...(settledAt !== undefined && { settledAt }),
    ...(usage && isSettled(state) && { usage }),
    ...(state === 'canceled' && { canceled: true }),
    ...(view.stopped && { stopped: true }),
    ...(view.failure && { failed: { code: view.failure.code, message: view.failure.message } }),
  };
}

/** Part of a message with a decision on one of its calls: who decided, and when. */
export function describeApproval(toolCallId: string, decision: RecordedDecision): Chunk {
  return { type: 'data-approval', id: toolCallId, data: { toolCallId, decision } };
}

export interface KnownParts {
  readonly steps: number;
  readonly results: ReadonlySet<string>;
  /** Calls for which the page shows a request for approval. */
  readonly approvals: ReadonlySet<string>;
  /** Calls whose decision the page shows, and of these the approved ones. */
  readonly decisions: ReadonlySet<string>;
  readonly approved: ReadonlySet<string>;
}

const NONE: ReadonlySet<string> = new Set();
const NOTHING: KnownParts = { steps: 0, results: NONE, approvals: NONE, decisions: NONE, approved: NONE };

interface ChunkOptions {
  readonly turn: string;
  readonly version: SdkVersion;
  readonly known?: KnownParts | undefined;
  /** State behind the parts that an earlier response sent. */
  readonly state?: TableState | undefined;
}

/** Converts the parts of a turn to chunks of the AI SDK, for one HTTP response. */
export class ChunkTable extends PartTable<Chunk> {
  readonly #turn: string;
  readonly #version: SdkVersion;
  readonly #known: KnownParts;
  readonly #open: Set<Mode>;
  /** Names of the calls of which only the beginning is shown, by id. */
  readonly #previews: Map<string, string>;

  constructor({ turn, version, known = NOTHING, state }: ChunkOptions) {
    super({ knownSteps: known.steps });
    this.#turn = turn;
    this.#version = version;
    this.#known = known;
    this.#open = new Set(state?.open);
    this.#previews = new Map(state?.previews);
    this.step = state?.step ?? 0;
  }

  get state(): TableState {
    return { step: this.step, open: [...this.#open], previews: this.#previews };
  }

  start(): Chunk[] {
    return [{ type: 'start', messageId: this.#turn }];
  }

  protected readonly writers: PartWriters<Chunk> = {
    text: (part) => [...this.enterStep(part.step), ...this.#addPiece('text', part.piece)],
    reasoning: (part) => [...this.enterStep(part.step), ...this.#addPiece('reasoning', part.piece)],
    'tool-call-start': ({ step, call: toolCallId, name: toolName }) => {
      this.#previews.set(toolCallId, toolName);
      return [...this.enterStep(step), { type: 'tool-input-start', toolCallId, toolName, dynamic: true }];
    },
    'tool-call-arguments': ({ call: toolCallId, piece: inputTextDelta }) => {
      return [{ type: 'tool-input-delta', toolCallId, inputTextDelta }];
    },
    'tool-call': (part) => [...this.enterStep(part.step), ...this.#closeOpen(), this.#addCall(part)],
    'tool-result': (part) => this.#addResult(part),
    progress: (part) => [addProgress(part)],
    data: (part) => [addData(part)],
    steering: (part) => [addSteering(part)],
    restart: ({ step }) => this.#restart(step),
    wait: ({ waiting }) => this.#addWait(waiting),
    behind: (part) => this.#addBlock(part),
    compaction: ({ version, tokensBefore: before, tokensAfter: after, archived }) => {
      return [{ type: 'data-compaction', id: `compaction-${version}`, data: { version, before, after, archived } }];
    },
    end: ({ view }) => this.#end(view),
  };

  /** Adds results and steering messages that the page lacks. It has the other parts of its earlier steps. */
  protected override addKnown(part: TurnPart): Chunk[] {
    if (part.type === 'steering') return [addSteering(part)];
    if (part.type === 'data') return [addData(part)];
    return part.type === 'tool-result' && !this.#hasResult(part) ? this.#addResult(part) : [];
  }

  /** AI SDK 5 stores a decision as an output, which the result of the call replaces. */
  #hasResult({ call, decision }: ResultPart): boolean {
    return this.#known.results.has(call) && (this.#version >= 6 || decision === undefined);
  }

  protected beginStep(): Chunk[] {
    return [{ type: 'start-step' }];
  }

  protected closeStep(): Chunk[] {
    return [...this.#closeOpen(), { type: 'finish-step' }];
  }

  #addPiece(type: Mode, delta: string): Chunk[] {
    const id = this.#idOf(type);
    const isOpen = this.#open.has(type);
    this.#open.add(type);
    return [...(isOpen ? [] : [{ type: `${type}-start`, id }]), { type: `${type}-delta`, id, delta }];
  }

  #closeOpen(): Chunk[] {
    const closed = [...this.#open].map((type) => ({ type: `${type}-end`, id: this.#idOf(type) }));
    this.#open.clear();
    return closed;
  }

  #idOf(type: Mode): string {
    return `${type === 'text' ? 's' : 'r'}${this.step}`;
  }

  #addCall({ call: toolCallId, name: toolName, arguments: written }: CallPart): Chunk {
    this.#previews.delete(toolCallId);
    return { type: 'tool-input-available', toolCallId, toolName, input: readJsonOrText(written), dynamic: true };
  }

  #addResult(part: ResultPart): Chunk[] {
    const { call: toolCallId, content, isError, decision } = part;
    const decided = decision === undefined ? [] : [describeApproval(toolCallId, decision)];
    if (!isError)
      return [...decided, { type: 'tool-output-available', toolCallId, output: showOutput(part), dynamic: true }];
    if (this.#version >= 6 && this.#isDenial(part)) return [...decided, { type: 'tool-output-denied', toolCallId }];
    return [...decided, { type: 'tool-output-error', toolCallId, errorText: content, dynamic: true }];
  }

  /** Results of an earlier release have no decision. A tool may return the text of a denial as its own error. */
  #isDenial({ call, content, decision }: ResultPart): boolean {
    const { approvals, approved } = this.#known;
    if (decision !== undefined) return decision.approved === false;
    return approvals.has(call) && !approved.has(call) && content.startsWith('denied: ');
  }

  /** Only AI SDK 7 can take parts back. An older page finds `data-restart` behind the void parts of a model step. */
  #restart(step: number): Chunk[] {
    if (step !== this.step) return this.#fail('Recorded steps of this answer were lost. Load the conversation again.');
    const closed = this.#closeOpen();
    const previews = [...this.#previews];
    this.#previews.clear();
    if (this.#version >= 7) return [...closed, { type: 'reset-step' }];
    const voided = previews.map(([toolCallId, toolName]) => {
      return { type: 'tool-input-error', toolCallId, toolName, input: {}, dynamic: true, errorText: 'restarted' };
    });
    this.step = 0;
    return [...closed, ...voided, { type: 'data-restart', data: { step } }, { type: 'finish-step' }];
  }

  #addWait({ for: kind, until, calls: waiting }: Waiting): Chunk[] {
    if (kind === 'compaction' || kind === 'retry') {
      return [{ type: 'data-turn', id: 'turn', data: { state: 'waiting', for: kind, until }, transient: true }];
    }
    const calls = kind === 'approval' ? waiting : [];
    const requests = calls.flatMap((call) => [
      ...(this.#known.approvals.has(call.id) ? [] : [...this.#showInput(call), this.#askApproval(call)]),
      ...(this.#known.decisions.has(call.id) ? [] : this.#addDecision(call)),
    ]);
    return [...requests, ...this.#finish('tool-calls')];
  }

  /** Names the turn in front and its open calls. Ends the stream, because a page sends one request at a time. */
  #addBlock({ turn, waiting }: PartOf<'behind'>): Chunk[] {
    const { for: kind, until, calls } = waiting;
    const open = undecided(calls);
    const shown = open.map((call) => {
      const { id: toolCallId, name: toolName, arguments: written, input = written } = call;
      return {
        toolCallId,
        toolName,
        input: readJsonOrText(input),
        ...(kind === 'approval' && { approvalId: nameWaitingCall(call) }),
      };
    });
    const data = { turn: this.#turn, state: 'queued', behind: { turn, for: kind, until, calls: shown } };
    return [{ type: 'data-turn', id: 'turn', data, transient: true }, ...this.#finish('other')];
  }

  /** Shows the input that will run, unless the page has an output. AI SDK 5 stores a decision as an output. */
  #showInput({ id: toolCallId, name: toolName, arguments: written, input, isShownOnly }: WaitingCall): Chunk[] {
    if (input === undefined || input === written || this.#known.results.has(toolCallId)) return [];
    const shown = isShownOnly === true ? input : readJsonOrText(input);
    return [{ type: 'tool-input-available', toolCallId, toolName, input: shown, dynamic: true }];
  }

  #askApproval(call: WaitingCall): Chunk {
    const { id: toolCallId, until } = call;
    if (this.#version === 5) return { type: 'data-approval', id: toolCallId, data: { toolCallId, until } };
    return { type: 'tool-approval-request', approvalId: nameWaitingCall(call), toolCallId };
  }

  #addDecision(call: WaitingCall): Chunk[] {
    const { id: toolCallId, until, decision } = call;
    if (decision?.approved === undefined) return [];
    const { approved } = decision;
    if (this.#version === 7) return [{ type: 'tool-approval-response', approvalId: nameWaitingCall(call), approved }];
    if (this.#version === 6 && !approved) return [{ type: 'tool-output-denied', toolCallId }];
    return [{ type: 'data-approval', id: toolCallId, data: { toolCallId, until, decision } }];
  }

  #end(view: TurnView): Chunk[] {
    const metadata = { type: 'message-metadata', messageMetadata: describeAnswer(view) };
    switch (view.state) {
      case 'completed': {
        const { end } = view.answer;
        const reason = end === undefined ? 'stop' : end === 'cut_off' ? 'length' : 'content-filter';
        return this.#finish(reason, describeAnswer(view));
      }
      case 'failed':
        return [...this.finishStep(), metadata, ...this.#fail(`${view.failure.code}: ${view.failure.message}`)];
      case 'canceled':
        this.isDone = true;
        return [...this.finishStep(), metadata, { type: 'abort', reason: 'canceled' }];
      default:
        return this.#finish('other');
    }
  }

  #finish(finishReason: string, messageMetadata?: AnswerMetadata): Chunk[] {
    this.isDone = true;
    return [...this.finishStep(), { type: 'finish', finishReason, ...(messageMetadata && { messageMetadata }) }];
  }

  #fail(errorText: string): Chunk[] {
    this.isDone = true;
    return [...this.finishStep(), { type: 'error', errorText }, { type: 'finish', finishReason: 'error' }];
  }
}

/** The id is fixed, so that a page that has the part replaces it. */
function addSteering({ turn, seq, content }: SteeringPart): Chunk {
  return { type: 'data-steering', id: `steering-${seq}`, data: { turn, content } };
}
