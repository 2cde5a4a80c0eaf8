import type { OnBusy, TurnState } from '../../src/domain/turn.ts';

/**
 * Kinds of turns of the test's agent. `say` answers at once. `hold` and `loop` wait for the test in their first model
 * call, and `loop` then calls a tool of the worker. `ask` waits for an answer, `risk` for an approval, and `both` for one
 * after the other. The model fails for `fail`, and it refuses what `refuse` says.
 */
export const KINDS = ['say', 'hold', 'loop', 'ask', 'risk', 'both', 'fail', 'refuse'] as const;
export type Kind = (typeof KINDS)[number];

/** Tools that the first model call of a turn calls. */
export const CALLS: Readonly<Record<Kind, readonly string[]>> = {
  say: [],
  hold: [],
  loop: ['echo'],
  ask: ['ask'],
  risk: ['risk'],
  both: ['echo', 'ask', 'risk'],
  fail: [],
  refuse: [],
};

export function isHeld(kind: Kind): boolean {
  return kind === 'hold' || kind === 'loop';
}

/** A turn as the oracle expects it. */
export interface Expected {
  readonly id: string;
  readonly kind: Kind;
  state: TurnState;
  waitsFor?: 'approval' | 'tools' | undefined;
  /** Answer, as the model gives it: the user messages that it saw. */
  answer?: string;
  /** Seq of the first message. */
  inputSeq?: number;
  /** True until the turn's message has entered another turn, or the turn runs. */
  isSteering: boolean;
  steeredInto?: string;
  /** Number of the model call that comes next, from 1. */
  step: number;
  /** Names of calls without a result. */
  open: string[];
  /** Seq of the message with the calls. */
  callSeq?: number;
}

interface Entry {
  readonly label: string;
  /** Seq of the message whose call this message answers. */
  readonly callSeq?: number | undefined;
  /** Turn of the message. */
  readonly turn?: string | undefined;
}

interface Shown {
  readonly base: number;
  readonly items: readonly string[];
}

const labelsOf = (entries: readonly Entry[]): string[] => entries.map(({ label }) => label);

const WHOLE_LOG: Shown = { base: 0, items: [] };

/** The state that a conversation must have once its workers have nothing left to do. */
export class Oracle {
  log: Entry[] = [];
  versions: Shown[] = [WHOLE_LOG];
  turns: Expected[] = [];
  mailbox: Expected[] = [];
  #undo: { from: number; to: number }[] = [];

  get exists(): boolean {
    return this.log.length > 0 || this.turns.length > 0;
  }

  get live(): Shown {
    return this.versions.at(-1) ?? WHOLE_LOG;
  }

  get items(): string[] {
    return [...this.live.items, ...labelsOf(this.log.slice(this.live.base))];
  }

  enqueue(id: string, kind: Kind, onBusy: OnBusy): 'accepted' | 'busy' {
    const turn: Expected = { id, kind, state: 'queued', isSteering: false, step: 1, open: [] };
    const [head] = this.mailbox;
    if (head !== undefined && onBusy === 'reject') return 'busy';
    this.turns.push(turn);
    if (head === undefined || onBusy === 'enqueue') this.mailbox.push(turn);
    else if (onBusy === 'steer') this.#steer(turn);
    else {
      this.#cancelHead(head);
      if (onBusy === 'rollback' && head.inputSeq !== undefined) {
        this.#undo.push({ from: head.inputSeq, to: this.log.length });
      }
      this.mailbox.unshift(turn);
    }
    this.#run();
    return 'accepted';
  }

  cancel(turn: Expected): TurnState {
    if (!this.mailbox.includes(turn)) return turn.state;
    if (turn === this.mailbox[0]) this.#cancelHead(turn);
    else {
      turn.state = 'canceled';
      this.mailbox.splice(this.mailbox.indexOf(turn), 1);
    }
    this.#run();
    return 'canceled';
  }

  /** The held model call of the first turn ends. */
  release(): void {
    const [head] = this.mailbox;
    if (head !== undefined) this.#endModelCall(head);
    this.#run();
  }

  /** All calls that the first turn waits for are answered. */
  answer(isApproved: boolean): void {
    const [head] = this.mailbox;
    if (head === undefined) return;
    const answered = head.open.filter((name) => (name === 'risk') === (head.waitsFor === 'approval'));
    for (const name of answered) {
      const label = { ask: 't:answered', risk: isApproved ? 't:risked' : 't!' }[name] ?? 't!';
      this.log.push({ label, callSeq: head.callSeq, turn: head.id });
    }
    head.open = head.open.filter((name) => !answered.includes(name));
    [head.state, head.waitsFor] = ['running', undefined];
    this.#run();
  }

  append(labels: readonly string[]): 'appended' | 'busy' {
    if (this.mailbox.length > 0) return 'busy';
    this.log.push(...labels.map((label) => ({ label })));
    return 'appended';
  }

  restore(version: number, newer: 'keep' | 'drop'): 'restored' | 'busy' {
    const [head] = this.mailbox;
    if (head?.state === 'running' || (head !== undefined && newer === 'drop')) return 'busy';
    const { base, items } = this.versions[version] ?? WHOLE_LOG;
    // A request with an unanswered call is invalid, so the results of earlier calls stay.
    const kept = this.log.slice(base).filter(({ callSeq = base + 1 }) => newer === 'keep' || callSeq <= base);
    this.#show([...items, ...labelsOf(kept)]);
    return 'restored';
  }

  rollBackTurn(turn: Expected): 'rolled_back' | 'turn_running' | 'conflict' | 'busy' {
    if (this.mailbox.includes(turn)) return 'turn_running';
    if (turn.inputSeq === undefined) return 'conflict';
    if (this.mailbox.length > 0) return 'busy';
    const { base, items } = this.#findBefore(turn.inputSeq);
    this.#show([...items, ...labelsOf(this.log.slice(base, turn.inputSeq - 1))]);
    return 'rolled_back';
  }

  /** Takes over a version that a pass has made. Its contents are the policy's decision. */
  adopt(version: Shown): void {
    this.versions.push(version);
  }

  /** A copy of the conversation, which has no turns and one version. */
  fork(): Oracle {
    const copy = new Oracle();
    copy.log = [...this.log];
    copy.versions.push(this.live);
    return copy;
  }

  #show(items: readonly string[]): void {
    this.versions.push({ base: this.log.length, items });
  }

  #findBefore(seq: number): Shown {
    return this.versions.findLast(({ base }) => base < seq) ?? WHOLE_LOG;
  }

  #steer(turn: Expected): void {
    turn.isSteering = true;
    const at = this.mailbox.findIndex(
      (other, index) => index > 0 && !other.isSteering && other.steeredInto === undefined,
    );
    this.mailbox.splice(at === -1 ? this.mailbox.length : at, 0, turn);
  }

  /** Ends the first turn and those whose messages entered it. */
  #settleHead(head: Expected, state: TurnState, answer?: string): void {
    for (const turn of this.mailbox.filter((other) => other === head || other.steeredInto === head.id)) {
      [turn.state, turn.waitsFor] = [state, undefined];
      if (answer !== undefined) turn.answer = answer;
    }
    this.mailbox = this.mailbox.filter((other) => other !== head && other.steeredInto !== head.id);
  }

  #cancelHead(head: Expected): void {
    this.log.push(...head.open.map(() => ({ label: 't!', callSeq: head.callSeq, turn: head.id })));
    this.#settleHead(head, 'canceled');
  }

  #run(): void {
    for (let [head] = this.mailbox; head !== undefined && this.#advance(head); [head] = this.mailbox);
  }

  /** @returns false if the first turn can go no further now */
  #advance(head: Expected): boolean {
    if (head.inputSeq === undefined) this.#begin(head);
    if (head.waitsFor !== undefined || (isHeld(head.kind) && head.step === 1 && head.answer !== undefined))
      return false;
    if (head.open.length > 0) {
      [head.state, head.waitsFor] = ['waiting', head.open.includes('risk') ? 'approval' : 'tools'];
      return false;
    }
    this.#takeSteering(head);
    head.answer = `saw ${this.items
      .filter((label) => label.startsWith('u:'))
      .map((label) => label.slice(2))
      .join(',')}`;
    if (isHeld(head.kind) && head.step === 1) return false;
    this.#endModelCall(head);
    return true;
  }

  #begin(head: Expected): void {
    this.log.push({ label: `u:${head.kind} ${head.id}`, turn: head.id });
    [head.state, head.inputSeq, head.isSteering] = ['running', this.log.length, false];
    this.#leaveContext();
  }

  /** Makes a version without the messages that must leave. */
  #leaveContext(): void {
    if (this.#undo.length === 0) return;
    const { base, items } = this.#findBefore(this.#undo[0]?.from ?? 1);
    const end = Math.max(this.#undo.at(-1)?.to ?? 0, this.live.base);
    const kept = this.log.slice(base, end).filter((_, at) => {
      const seq = base + at + 1;
      return !this.#undo.some(({ from, to }) => seq >= from && seq <= to);
    });
    this.versions.push({ base: end, items: [...items, ...labelsOf(kept)] });
    this.#undo = [];
  }

  /** The turn's messages leave, and those of turns directly before it that no model answered. */
  #refuse(head: Expected): void {
    let from = head.inputSeq ?? 1;
    for (let last = this.log[from - 2]; last?.turn !== undefined; last = this.log[from - 2]) {
      if (last.label.startsWith('a:') && !last.label.startsWith('a:[')) break;
      const { turn } = last;
      from = this.log.findIndex((entry) => entry.turn === turn) + 1;
    }
    this.#undo.push({ from, to: this.log.length });
    this.#settleHead(head, 'failed');
    if (this.mailbox.length === 0) this.#leaveContext();
  }

  #takeSteering(head: Expected): void {
    for (const turn of this.mailbox.slice(1)) {
      if (turn.steeredInto !== undefined) continue;
      if (!turn.isSteering) return;
      this.log.push({ label: `u:${turn.kind} ${turn.id}`, turn: turn.id });
      [turn.state, turn.inputSeq, turn.isSteering, turn.steeredInto] = ['running', this.log.length, false, head.id];
    }
  }

  #endModelCall(head: Expected): void {
    if (head.kind === 'fail' || head.kind === 'refuse') {
      delete head.answer;
      return head.kind === 'fail' ? this.#settleHead(head, 'failed') : this.#refuse(head);
    }
    const calls = head.step === 1 ? CALLS[head.kind] : [];
    if (calls.length === 0) {
      this.log.push({ label: `a:${head.answer}`, turn: head.id });
      return this.#settleHead(head, 'completed', head.answer);
    }
    delete head.answer;
    this.log.push({ label: `a:[${calls.join(',')}]`, turn: head.id });
    [head.step, head.callSeq] = [2, this.log.length];
    if (calls.includes('echo')) this.log.push({ label: 't:echoed', callSeq: head.callSeq, turn: head.id });
    head.open = calls.filter((name) => name !== 'echo');
  }
}
