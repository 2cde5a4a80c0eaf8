import { fieldError } from './errors.ts';
import { callIdAt } from './ids.ts';
import type { Message, ToolCall } from './message.ts';

export interface OpenCall {
  readonly id: string;
  /** The provider's id of the call. Present if the log renamed the call. */
  readonly providerId?: string | undefined;
}

/** `givenId`: id of the call in the caller's messages. A result may also refer to the call by this id. */
interface NamedCall extends OpenCall {
  readonly givenId?: string;
}

export interface AdoptedMessages {
  readonly messages: Message[];
  readonly openCalls: readonly OpenCall[];
}

/**
 * Renames calls to `c<seq>_<index>`, because providers repeat ids from one response to the next. A result belongs to
 * the nearest earlier unanswered call with its id.
 * @param at path of the messages in the caller's input
 * @throws orphan_result without an open call, duplicate_call if a call id repeats or a call has two results
 */
export function adoptMessages(
  messages: readonly Message[],
  firstSeq: number,
  openCalls: readonly OpenCall[] = [],
  at = 'messages',
): AdoptedMessages {
  const open = new OpenCalls(openCalls);
  const answered = new Set<string>();
  const adopted = messages.map((message, index) => {
    if (message.role === 'tool') {
      return answerCall(message, open, answered, `${at}[${index}].toolCallId`);
    }
    if (message.role !== 'assistant' || message.toolCalls === undefined) return message;
    const given = message.toolCalls;
    const toolCalls = adoptCalls(given, firstSeq + index, `${at}[${index}].toolCalls`);
    toolCalls.forEach(({ id, providerId }, call) => {
      open.add({ id, providerId, givenId: (given[call] as ToolCall).id });
    });
    return { ...message, toolCalls };
  });
  return { messages: adopted, openCalls: open.list() };
}

/** Unanswered calls by all their ids, because a search of a list took 0.6 s for 10,000 calls. */
class OpenCalls {
  /** Oldest first. */
  readonly #open = new Set<NamedCall>();
  /** Open calls by each of their ids, oldest first. A search that meets an answered call removes it. */
  readonly #byName = new Map<string, NamedCall[]>();

  constructor(calls: readonly OpenCall[]) {
    for (const call of calls) this.add(call);
  }

  add(call: NamedCall): void {
    this.#open.add(call);
    for (const name of new Set([call.id, call.providerId, call.givenId])) {
      if (name === undefined) continue;
      const named = this.#byName.get(name);
      if (named === undefined) this.#byName.set(name, [call]);
      else named.push(call);
    }
  }

  take(name: string): NamedCall | undefined {
    const named = this.#byName.get(name) ?? [];
    for (let call = named.pop(); call !== undefined; call = named.pop()) if (this.#open.delete(call)) return call;
    return undefined;
  }

  list(): OpenCall[] {
    return [...this.#open].map(({ id, providerId }) => ({ id, providerId }));
  }
}

function adoptCalls(calls: readonly ToolCall[], seq: number, at: string): ToolCall[] {
  const ids = new Set<string>();
  return calls.map((call, index) => {
    if (ids.has(call.id)) {
      const field = `${at}[${index}].id`;
      throw fieldError(
        'duplicate_call',
        field,
        `call id ${call.id} is used by two calls of this message. Give each call its own id`,
      );
    }
    ids.add(call.id);
    const id = callIdAt(seq, index);
    return call.id === id ? call : { ...call, id, providerId: call.providerId ?? call.id };
  });
}

function answerCall(message: Message, open: OpenCalls, answered: Set<string>, field: string): Message {
  const named = message.toolCallId ?? '';
  const call = open.take(named);
  if (call === undefined) {
    const code = answered.has(named) ? 'duplicate_call' : 'orphan_result';
    const why =
      code === 'duplicate_call'
        ? `the tool call ${named} already has a result. Send one result per call`
        : `no earlier message has an unanswered tool call with the id ${named || '(no id given)'}`;
    throw fieldError(code, field, why);
  }
  answered.add(named);
  return call.id === named ? message : { ...message, toolCallId: call.id };
}
