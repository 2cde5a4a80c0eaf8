import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogle } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAI as createOpenAI3 } from '@ai-sdk/openai3';
import type { ModelProfile } from '../../../src/domain/model.ts';
import {
  type AiSdkLanguageModel,
  type AiSdkModelOptions,
  aiSdkModel,
} from '../../../src/providers/ai-sdk/ai-sdk-model.ts';
import type { Provider } from '../../provider/provider.ts';
import { type ConnectOptions, KEY, PROFILE } from '../fixture.ts';
import type { ModelSubject } from '../model-contract.ts';

type Settings = { readonly baseURL: string; readonly apiKey: string };

/** `model-1` is in no list of reasoning models. */
const REASONING = { providerOptions: { openai: { forceReasoning: true } } };
const THINKING = { providerOptions: { anthropic: { thinking: { type: 'enabled', budgetTokens: 1_024 } } } };

function subject(
  { name, ...facts }: Omit<ModelSubject, 'connect'>,
  open: (settings: Settings, id: string) => AiSdkLanguageModel,
  options: Omit<AiSdkModelOptions, 'profile'> = {},
): ModelSubject {
  return {
    name: `AI SDK ${name}`,
    ...facts,
    connect({ url }: Pick<Provider, 'url'>, { profile = PROFILE, apiKey = KEY }: ConnectOptions = {}) {
      const { id, ...properties }: ModelProfile = profile;
      return aiSdkModel(open({ baseURL: `${url}/v1`, apiKey }, id), { ...options, profile: properties });
    },
  };
}

/** Models of the AI SDK's packages that speak to the strict test server. */
export const AI_SDK_SUBJECTS: readonly ModelSubject[] = [
  subject({ name: 'anthropic v4', format: 'anthropic' }, (settings, id) => createAnthropic(settings)(id), THINKING),
  subject(
    { name: 'openai responses v4', format: 'openai-responses', streamDecisions: { invalid: 'invalid' } },
    (settings, id) => createOpenAI(settings).responses(id),
    REASONING,
  ),
  subject(
    { name: 'openai responses v3', format: 'openai-responses', streamDecisions: { invalid: 'invalid' } },
    (settings, id) => createOpenAI3(settings).responses(id),
    REASONING,
  ),
  subject({ name: 'openai chat v4', format: 'openai-chat', keepsThinking: false }, (settings, id) =>
    createOpenAI(settings).chat(id),
  ),
  subject({ name: 'openai chat v3', format: 'openai-chat', keepsThinking: false }, (settings, id) =>
    createOpenAI3(settings).chat(id),
  ),
  // Gemini reports every used-up limit with the same text, so a turn waits in each case.
  subject(
    { name: 'google v4', format: 'gemini', decisions: { quota: 'retry', too_large_for_rate: 'retry' } },
    (settings, id) => createGoogle(settings)(id),
  ),
];
