import type { LogEntry } from '../../../domain/message.ts';
import type { RecordedDecision } from '../../../domain/turn.ts';
import type { Version } from '../../../domain/version.ts';
import { nameWaitingCall, readJsonOrText } from '../front-end/call-names.ts';
import { describeApproval, type SdkVersion } from './chunks.ts';
import { addData, showOutput } from './note-chunks.ts';

export type UiPart = { readonly type: string } & Record<string, unknown>;

type LoggedMessage = LogEntry['message'] & { readonly reasoning?: string | undefined };

export interface AnswerFacts {
  /** All versions of the conversation. */
  readonly versions: readonly Version[];
  /** AI SDK 5 shows a denied call as an error. */
  readonly sdkVersion: SdkVersion;
}

/** Collects the parts of an answer from its log entries, as a page has them behind the stream of the answer. */
export class ShownAnswer {
  readonly #parts: UiPart[] = [];
  readonly #versions: readonly Version[];
  readonly #sdkVersion: SdkVersion;
  #seq: number;

  /** @param after seq behind which the answer begins */
  constructor(after: number, { versions, sdkVersion }: AnswerFacts) {
    this.#versions = versions;
    this.#sdkVersion = sdkVersion;
    this.#seq = after;
  }

  addEntry({ seq, message }: LogEntry): void {
    this.#addCompactions(seq - 1);
    this.#seq = seq;
    if (message.role === 'tool') this.#addResult(message);
    else this.#addStep(message);
  }

  addSteering(turn: string, { seq, message: { content } }: LogEntry): void {
    this.#addCompactions(seq - 1);
    this.#seq = seq;
    this.#parts.push({ type: 'data-steering', id: `steering-${seq}`, data: { turn, content } });
  }

  /** @param settledAt end of the turn. A compaction of a later time is no part of the answer. */
  close(settledAt: number | undefined): readonly UiPart[] {
    if (settledAt !== undefined) this.#addCompactions(this.#seq, settledAt);
    return this.#parts;
  }

  /** Adds the compactions that were committed while the log ended between the last entry and `head`. */
  #addCompactions(head: number, until = Number.POSITIVE_INFINITY): void {
    for (const version of this.#versions) {
      const { number, at, measuredAt, tokensBefore: before, tokensAfter: after, archived } = version;
      if (number === 0 || version.cause === 'fork' || at > until) continue;
      if (measuredAt.head < this.#seq || measuredAt.head > head) continue;
      const data = { version: number, before, after, archived };
      this.#parts.push({ type: 'data-compaction', id: `compaction-${number}`, data });
    }
  }

  #addStep({ content, reasoning, toolCalls = [] }: LoggedMessage): void {
    this.#parts.push({ type: 'step-start' });
    if (reasoning !== undefined && reasoning !== '')
      this.#parts.push({ type: 'reasoning', text: reasoning, state: 'done' });
    if (content !== '') this.#parts.push({ type: 'text', text: content, state: 'done' });
    for (const { id: toolCallId, name: toolName, arguments: written } of toolCalls) {
      const input = readJsonOrText(written);
      this.#parts.push({ type: 'dynamic-tool', toolName, toolCallId, state: 'input-available', input });
    }
  }

  #addResult({ toolCallId = '', content, parts, isError, data = [], decision }: LoggedMessage): void {
    const part = this.#parts.find((candidate) => candidate['toolCallId'] === toolCallId);
    if (part === undefined) return;
    for (const value of data) this.#replace(addData({ call: toolCallId, ...value }));
    if (decision !== undefined) this.#addDecision(part, toolCallId, decision);
    if (isError !== true) Object.assign(part, { state: 'output-available', output: showOutput({ content, parts }) });
    else if (decision?.approved === false && this.#sdkVersion >= 6) Object.assign(part, { state: 'output-denied' });
    else Object.assign(part, { state: 'output-error', errorText: content });
  }

  #addDecision(part: UiPart, call: string, decision: RecordedDecision): void {
    const { approved } = decision;
    if (approved !== undefined && this.#sdkVersion >= 6)
      Object.assign(part, { approval: { id: nameWaitingCall({ id: call }), approved } });
    this.#replace(describeApproval(call, decision));
  }

  /** A page replaces a data part by the next one of the same type and id. */
  #replace(part: UiPart): void {
    const at = this.#parts.findIndex(({ type, id }) => type === part.type && id === part['id']);
    if (at === -1) this.#parts.push(part);
    else this.#parts[at] = part;
  }
}
