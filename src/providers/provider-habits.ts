import type { ModelProfile } from '../domain/model.ts';
import type { ProviderHabits } from '../domain/provider-habits.ts';

/**
 * Habits by the name of a model. A name may hold a maker (`deepseek/deepseek-v4`, `moonshotai/Kimi-K2.6`). The habits of
 * a profile win over these.
 * - DeepSeek, Kimi, Qwen and MiMo want the reasoning of all answers with calls, unsigned on their Anthropic endpoints.
 * - MiniMax wants all reasoning.
 * - Gemini 3 and newer require a signature on calls, also of other models.
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

/** Requirement of a provider that its refusal names. */
export type Lesson = 'send_reasoning' | 'drop_reasoning' | 'nine_ids' | 'sign_calls' | 'system_first';

const LESSONS: Readonly<Record<Lesson, ProviderHabits>> = {
  send_reasoning: { reasoning: 'calls', needsReasoning: true, isThinkingUnsigned: true },
  drop_reasoning: { reasoning: 'none', needsReasoning: false },
  nine_ids: { callIds: 'nine' },
  sign_calls: { needsSignatures: true },
  system_first: { takesLaterSystem: false },
};

/** The habits of one model, which grow with the refusals of its provider. They last as long as the process. */
export class LearnedHabits {
  #habits: ProviderHabits;

  constructor(profile: Pick<ModelProfile, 'id' | 'habits'>) {
    this.#habits = findHabits(profile);
  }

  get current(): ProviderHabits {
    return this.#habits;
  }

  /** @returns false if the habits already agree with the lesson, so that another attempt would fail in the same way */
  learn(lesson: Lesson): boolean {
    const learned = { ...this.#habits, ...LESSONS[lesson] };
    if (JSON.stringify(learned) === JSON.stringify(this.#habits)) return false;
    this.#habits = learned;
    return true;
  }
}
