import { createHash } from 'node:crypto';
import type { Message } from '../domain/message.ts';
import {
  ModelError,
  type ModelErrorKind,
  type ModelErrorOptions,
  type ModelProfile,
  type ModelRequest,
} from '../domain/model.ts';
import type { ProviderHabits } from '../domain/provider-habits.ts';
import { isThinking, type RawItem, type RawItems, readRawItems } from '../domain/raw-items.ts';

/**
 * Habits by the name of a model, which may name a maker (`moonshotai/Kimi-K2.6`). A profile overrides them.
 * - DeepSeek, Kimi, Qwen and MiMo require the reasoning of all answers with calls, unsigned at Anthropic endpoints.
 * - MiniMax requires all reasoning.
 * - Gemini 3 and newer require a signature on calls, also on calls of other models.
 * - Mistral requires ids of nine letters or digits.
 */
const HABITS: readonly (readonly [name: RegExp, habits: ProviderHabits])[] = [
  [/(?:^|\/)(?:deepseek|kimi|moonshot|qwen|qwq|mimo)/i, { reasoning: 'calls', isThinkingUnsigned: true }],
  [/(?:^|\/)minimax/i, { reasoning: 'all', isThinkingUnsigned: true }],
  [/(?:^|\/)glm/i, { isThinkingUnsigned: true }],
  [/(?:^|\/)gemini-(?:[3-9]|\d\d)/i, { needsSignatures: true }],
  [/(?:^|\/)(?:mistral|ministral|magistral|devstral|codestral|pixtral|(?:open-)?mixtral)/i, { callIds: 'nine' }],
];

function findHabits({ id, habits }: Pick<ModelProfile, 'id' | 'habits'>): ProviderHabits {
  return { ...HABITS.find(([name]) => name.test(id))?.[1], ...habits };
}

export type Lesson = 'send_reasoning' | 'drop_reasoning' | 'nine_ids' | 'sign_calls' | 'system_first';

const LESSONS: Readonly<Record<Lesson, ProviderHabits>> = {
  send_reasoning: { reasoning: 'calls', needsReasoning: true, isThinkingUnsigned: true },
  drop_reasoning: { reasoning: 'none', needsReasoning: false },
  nine_ids: { callIds: 'nine' },
  sign_calls: { needsSignatures: true },
  system_first: { takesLaterSystem: false },
};

/** The habits of one model. turnfold learns habits from refusals, and forgets learned habits when the process ends. */
export class LearnedHabits {
  #habits: ProviderHabits;

  constructor(profile: Pick<ModelProfile, 'id' | 'habits'>) {
    this.#habits = findHabits(profile);
  }

  get current(): ProviderHabits {
    return this.#habits;
  }

  /** @returns false for a known lesson: another attempt would fail in the same way */
  learn(lesson: Lesson): boolean {
    const learned = { ...this.#habits, ...LESSONS[lesson] };
    if (JSON.stringify(learned) === JSON.stringify(this.#habits)) return false;
    this.#habits = learned;
    return true;
  }
}

/** The provider refused the form of a request, and named the form that it accepts. */
export class TeachingError extends ModelError {
  /** Form that the provider accepts. `drop_thinking`: the provider refused thinking. */
  readonly lesson: Lesson | 'drop_thinking';
  readonly itemIds: readonly string[];

  constructor(
    kind: ModelErrorKind,
    message: string,
    {
      lesson,
      itemIds,
      ...options
    }: ModelErrorOptions & { readonly lesson: TeachingError['lesson']; readonly itemIds: readonly string[] },
  ) {
    super(kind, message, options);
    this.lesson = lesson;
    this.itemIds = itemIds;
  }
}

const MAX_REFUSED = 10_000;

/**
 * Sends requests of one model in the form that its provider accepts. If a refusal names another form, the request is
 * sent again in that form, as are later requests. A failed turn could block the conversation: before the first
 * compaction there is no version to roll back to.
 */
export class FormMemory {
  readonly #habits: LearnedHabits;
  readonly #refused = new Set<string>();

  constructor(habits: LearnedHabits) {
    this.#habits = habits;
  }

  async send<Request extends ModelRequest, Answer>(
    request: Request,
    ask: (request: Request) => Promise<Answer>,
  ): Promise<Answer> {
    // A gateway may send each attempt to another server, and two servers may ask for opposite forms.
    const lessons = new Set<Lesson>();
    for (let sent = this.#withoutRefused(request); ; ) {
      const habits = this.#habits.current;
      try {
        return await ask(sent);
      } catch (error) {
        if (!(error instanceof TeachingError)) throw error;
        const { lesson } = error;
        const next = lesson === 'drop_thinking' ? this.#forget(sent, error.itemIds) : sent;
        if (lesson === 'drop_thinking' ? next === sent : !this.#learn(lesson, habits, lessons)) throw error;
        sent = next;
      }
    }
  }

  /** @returns true if a retry differs from a request with `habits`, also if a concurrent request learned the lesson */
  #learn(lesson: Lesson, habits: ProviderHabits, lessons: Set<Lesson>): boolean {
    if (lessons.has(lesson)) return false;
    lessons.add(lesson);
    return this.#habits.learn(lesson) || this.#habits.current !== habits;
  }

  /** Drops and remembers refused thoughts: those of the message that the refusal names, or else all of the request. */
  #forget<Request extends ModelRequest>(request: Request, itemIds: readonly string[]): Request {
    const thoughts = request.messages.map(listThoughts);
    const named = thoughts.filter((_, index) => isNamed(request.messages[index], itemIds));
    const refused = named.some((list) => list.length > 0) ? named : thoughts;
    for (const thought of refused.flat()) {
      this.#refused.add(hashItem(thought));
      if (this.#refused.size > MAX_REFUSED) this.#refused.delete(this.#refused.values().next().value ?? '');
    }
    return this.#withoutRefused(request);
  }

  /** Returns the same object if the request has no refused thoughts. */
  #withoutRefused<Request extends ModelRequest>(request: Request): Request {
    if (this.#refused.size === 0) return request;
    const messages = request.messages.map((message) => this.#withoutThoughts(message));
    return messages.every((message, index) => message === request.messages[index]) ? request : { ...request, messages };
  }

  #withoutThoughts(message: Message): Message {
    const raw = readRawItems(message);
    if (raw === undefined) return message;
    const items = raw.items.filter((item) => !isThinking(item) || !this.#refused.has(hashItem(item)));
    return items.length === raw.items.length ? message : { ...message, raw: { ...raw, items } satisfies RawItems };
  }
}

function listThoughts(message: Message): readonly RawItem[] {
  return readRawItems(message)?.items.filter(isThinking) ?? [];
}

function isNamed(message: Message | undefined, ids: readonly string[]): boolean {
  if (message === undefined || ids.length === 0) return false;
  return readRawItems(message)?.items.some(({ id }) => typeof id === 'string' && ids.includes(id)) === true;
}

function hashItem(item: RawItem): string {
  return createHash('sha256').update(JSON.stringify(item)).digest('base64');
}
