import type { TurnPart } from '../../src/api/client/index.ts';
import type { LogEntry } from '../../src/domain/message.ts';

interface ReadStep {
  text: string;
  reasoning: string;
  readonly calls: { call: string; name: string; arguments: string }[];
  readonly results: { call: string; content: string }[];
}

/** A reader of a turn that applies each part, as an application does. */
export class ReadTurn {
  readonly steps = new Map<number, ReadStep>();
  /** Id of the last part. */
  after: string | undefined;

  add(part: TurnPart): void {
    this.after = part.id;
    if (part.type === 'restart') {
      for (const step of this.steps.keys()) if (step >= part.step) this.steps.delete(step);
      return;
    }
    if (!('step' in part) || part.type === 'steering') return;
    const step = this.#open(part.step);
    if (part.type === 'text') step.text += part.piece;
    if (part.type === 'reasoning') step.reasoning += part.piece;
    if (part.type === 'tool-call') {
      step.calls.push({ call: part.call, name: part.name, arguments: part.arguments });
    }
    if (part.type === 'tool-result') step.results.push({ call: part.call, content: part.content });
  }

  /** The messages of the turn, in the form of `messagesOf`. */
  get messages(): object[] {
    return [...this.steps.values()].map(({ text, calls, results }) => ({ text, calls, results }));
  }

  #open(number: number): ReadStep {
    const step = this.steps.get(number) ?? { text: '', reasoning: '', calls: [], results: [] };
    this.steps.set(number, step);
    return step;
  }
}

/** The messages of a turn in the log, each with the results of its calls. */
export function messagesOf(log: readonly LogEntry[], turn: string): object[] {
  const found: { text: string; calls: object[]; results: object[] }[] = [];
  for (const { message, turn: writer } of log) {
    if (writer !== turn) continue;
    const { role, content, toolCalls = [], toolCallId: call } = message;
    const calls = toolCalls.map(({ id, name, arguments: written }) => ({ call: id, name, arguments: written }));
    if (role === 'assistant') found.push({ text: content, calls, results: [] });
    if (role === 'tool') found.at(-1)?.results.push({ call, content });
  }
  return found;
}
