import type { ScriptedAnswer } from './answer.ts';
import type { Dialect } from './dialect.ts';
import type { Fault } from './fault.ts';
import type { JsonObject } from './json.ts';
import type { Refusal } from './refusal.ts';

/** A request as it came, keys aside. */
export interface ProviderRequest {
  readonly format: Dialect['format'];
  /** with its query */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject;
  readonly isStream: boolean;
  /** why it was not answered */
  readonly refusal: Refusal | undefined;
}

export type Outcome = ScriptedAnswer | Fault;
export type ReplyFunction = (request: ProviderRequest) => Outcome | Promise<Outcome>;
export type Reply = Outcome | ReplyFunction;

/** What is answered next: a list that has to come out even, or a function that answers all. */
export class Script {
  readonly #queue: Reply[];
  readonly #answerAll: ReplyFunction | undefined;

  constructor(answers: readonly Reply[] | ReplyFunction) {
    this.#queue = typeof answers === 'function' ? [] : [...answers];
    this.#answerAll = typeof answers === 'function' ? answers : undefined;
  }

  get unused(): number {
    return this.#queue.length;
  }

  add(replies: readonly Reply[]): void {
    this.#queue.push(...replies);
  }

  /** @throws where nothing is left to answer */
  async next(request: ProviderRequest): Promise<Outcome> {
    const reply = this.#queue.shift() ?? this.#answerAll;
    if (reply === undefined) throw new Error(`no answer is left for a request to ${request.path}`);
    return typeof reply === 'function' ? reply(request) : reply;
  }
}
