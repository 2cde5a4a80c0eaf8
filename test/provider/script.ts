import type { ScriptedAnswer } from './answer.ts';
import type { Dialect } from './dialect.ts';
import type { Fault } from './fault.ts';
import type { JsonObject } from './json.ts';
import type { Refusal } from './refusal.ts';

/** A received request without its API keys. */
export interface ProviderRequest {
  readonly format: Dialect['format'];
  /** Path of the URL, including the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject;
  readonly isStream: boolean;
  /** The refusal, if the server refused the request. */
  readonly refusal: Refusal | undefined;
}

export type Outcome = ScriptedAnswer | Fault;
export type ReplyFunction = (request: ProviderRequest) => Outcome | Promise<Outcome>;
export type Reply = Outcome | ReplyFunction;

/** Source of scripted replies: a list that must be used up, or a function that answers every request. */
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

  /** @throws if the script has no answer left */
  async next(request: ProviderRequest): Promise<Outcome> {
    const reply = this.#queue.shift() ?? this.#answerAll;
    if (reply === undefined) throw new Error(`no answer is left for a request to ${request.path}`);
    return typeof reply === 'function' ? reply(request) : reply;
  }
}
