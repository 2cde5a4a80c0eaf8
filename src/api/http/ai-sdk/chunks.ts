import type { WaitingCall } from '../../../domain/turn.ts';
import type { CallPart, ResultPart, TurnPart } from '../../client/index.ts';
import { nameWaitingCall, readJsonOrText, undecided } from '../front-end/call-names.ts';

export const SDK_VERSIONS = [5, 6, 7] as const;
export type SdkVersion = (typeof SDK_VERSIONS)[number];

/** Parsers refuse an unknown type: only AI SDK 7 knows `reset-step`, and only 6 and 7 know approvals. */
export type Chunk = { readonly type: string } & Readonly<Record<string, unknown>>;

/** Metadata of an answer whose text ends where its turn was canceled. */
export const STOPPED = { stopped: true };

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
}

/**
 * Converts the parts of a turn to chunks. Each response has its own instance. `isDone`: the turn ended, or waits for
 * the page.
 */
export class ChunkTable {
  readonly #turn: string;
  readonly #version: SdkVersion;
  readonly #known: KnownParts;
  #step = 0;
  readonly #open = new Set<'text' | 'reasoning'>();
  readonly #previews = new Map<string, string>();
  isDone = false;

  constructor({ turn, version, known = NOTHING }: ChunkOptions) {
    this.#turn = turn;
    this.#version = version;
    this.#known = known;
  }

  start(): Chunk[] {
    return [{ type: 'start', messageId: this.#turn }];
  }

  add(part: TurnPart): Chunk[] {
    if ('step' in part && part.step <= this.#known.steps) return this.#addKnown(part);
    switch (part.type) {
      case 'text':
      case 'reasoning':
        return [...this.#enterStep(part.step), ...this.#addPiece(part.type, part.piece)];
      case 'tool-call-start': {
        this.#previews.set(part.call, part.name);
        const { call: toolCallId, name: toolName } = part;
        return [...this.#enterStep(part.step), { type: 'tool-input-start', toolCallId, toolName, dynamic: true }];
      }
      case 'tool-call-arguments':
        return [{ type: 'tool-input-delta', toolCallId: part.call, inputTextDelta: part.piece }];
      case 'tool-call':
        return [...this.#enterStep(part.step), ...this.#closeOpen(), this.#addCall(part)];
      case 'tool-result':
        return [this.#addResult(part)];
      case 'steering':
        return [addSteering(part)];
      case 'restart':
        return this.#restart(part.step);
      case 'wait':
        return this.#addWait(part);
      case 'behind':
        return this.#addBlock(part);
      case 'compaction': {
        const { version, tokensBefore: before, tokensAfter: after, archived } = part;
        return [{ type: 'data-compaction', id: `compaction-${version}`, data: { version, before, after, archived } }];
      }
      case 'end':
        return this.#end(part);
    }
  }

  /**
   * Adds results and steering messages that the page lacks. A page that continues a message has the other known parts.
   */
  #addKnown(part: TurnPart): Chunk[] {
    if (part.type === 'steering') return [addSteering(part)];
    return part.type === 'tool-result' && !this.#known.results.has(part.call) ? [this.#addResult(part)] : [];
  }

  #enterStep(step: number): Chunk[] {
    if (step === this.#step) return [];
    const finished = this.#finishStep();
    this.#step = step;
    return [...finished, { type: 'start-step' }];
  }

  #finishStep(): Chunk[] {
    const finished: Chunk[] = this.#step === 0 ? [] : [...this.#closeOpen(), { type: 'finish-step' }];
    this.#step = 0;
    return finished;
  }

  #addPiece(type: 'text' | 'reasoning', delta: string): Chunk[] {
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

  #idOf(type: 'text' | 'reasoning'): string {
    return `${type === 'text' ? 's' : 'r'}${this.#step}`;
  }

  #addCall({ call: toolCallId, name: toolName, arguments: written }: CallPart): Chunk {
    this.#previews.delete(toolCallId);
    return { type: 'tool-input-available', toolCallId, toolName, input: readJsonOrText(written), dynamic: true };
  }

  #addResult({ call: toolCallId, content, isError }: ResultPart): Chunk {
    if (!isError) return { type: 'tool-output-available', toolCallId, output: readJsonOrText(content), dynamic: true };
    if (this.#isDenial(toolCallId, content)) return { type: 'tool-output-denied', toolCallId };
    return { type: 'tool-output-error', toolCallId, errorText: content, dynamic: true };
  }

  /** A tool may return the same text as its own error, so only an error of a call that was not approved is a denial. */
  #isDenial(call: string, error: string): boolean {
    const { approvals, approved } = this.#known;
    return this.#version >= 6 && approvals.has(call) && !approved.has(call) && error.startsWith('denied: ');
  }

  /**
   * Takes back the parts of the open step. Only AI SDK 7 can do this: an older page finds `data-restart` behind the
   * void parts.
   */
  #restart(step: number): Chunk[] {
    if (step !== this.#step) return this.#fail('Recorded steps of this answer were lost. Load the conversation again.');
    const closed = this.#closeOpen();
    const previews = [...this.#previews];
    this.#previews.clear();
    if (this.#version >= 7) return [...closed, { type: 'reset-step' }];
    const voided = previews.map(([toolCallId, toolName]) => {
      return { type: 'tool-input-error', toolCallId, toolName, input: {}, dynamic: true, errorText: 'restarted' };
    });
    this.#step = 0;
    return [...closed, ...voided, { type: 'data-restart', data: { step } }, { type: 'finish-step' }];
  }

  #addWait({ waiting }: Extract<TurnPart, { readonly type: 'wait' }>): Chunk[] {
    const { for: kind, until } = waiting;
    if (kind === 'compaction' || kind === 'retry') {
      return [{ type: 'data-turn', id: 'turn', data: { state: 'waiting', for: kind, until }, transient: true }];
    }
    const calls = kind === 'approval' ? waiting.calls : [];
    const requests = calls.flatMap((call) => [
      ...(this.#known.approvals.has(call.id) ? [] : [...this.#showInput(call), this.#askApproval(call)]),
      ...(this.#known.decisions.has(call.id) ? [] : this.#addDecision(call)),
    ]);
    return [...requests, ...this.#finish('tool-calls')];
  }

  /**
   * Names the turn in front and its open calls, and ends the stream. While a page has a request open, it sends no other
   * request, so it could not answer.
   */
  #addBlock({ turn, waiting }: Extract<TurnPart, { readonly type: 'behind' }>): Chunk[] {
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

  /**
   * Shows the input that will run, because a person approves it. AI SDK 5 stores a decision as an output, which a new
   * input would remove.
   */
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

  /** Adds a decision. AI SDK 7 shows the decision, and an older page finds it in `data-approval`. */
  #addDecision(call: WaitingCall): Chunk[] {
    const { id: toolCallId, until, decision } = call;
    if (decision?.approved === undefined) return [];
    const { approved } = decision;
    if (this.#version === 7) return [{ type: 'tool-approval-response', approvalId: nameWaitingCall(call), approved }];
    if (this.#version === 6 && !approved) return [{ type: 'tool-output-denied', toolCallId }];
    return [{ type: 'data-approval', id: toolCallId, data: { toolCallId, until, decision } }];
  }

  #end({ view }: Extract<TurnPart, { readonly type: 'end' }>): Chunk[] {
    switch (view.state) {
      case 'completed': {
        const { end } = view.answer;
        const reason = end === undefined ? 'stop' : end === 'cut_off' ? 'length' : 'content-filter';
        return this.#finish(reason, view.usage);
      }
      case 'failed':
        return this.#fail(`${view.failure.code}: ${view.failure.message}`);
      case 'canceled':
        this.isDone = true;
        return [
          ...this.#finishStep(),
          ...(view.stopped ? [{ type: 'message-metadata', messageMetadata: STOPPED }] : []),
          { type: 'abort', reason: 'canceled' },
        ];
      default:
        return this.#finish('other');
    }
  }

  #finish(finishReason: string, usage?: object): Chunk[] {
    this.isDone = true;
    return [...this.#finishStep(), { type: 'finish', finishReason, ...(usage && { messageMetadata: { usage } }) }];
  }

  #fail(errorText: string): Chunk[] {
    this.isDone = true;
    return [...this.#finishStep(), { type: 'error', errorText }, { type: 'finish', finishReason: 'error' }];
  }
}

/** The id is fixed. A front-end that already has the part replaces it. */
function addSteering({ turn, seq, content }: Extract<TurnPart, { readonly type: 'steering' }>): Chunk {
  return { type: 'data-steering', id: `steering-${seq}`, data: { turn, content } };
}
