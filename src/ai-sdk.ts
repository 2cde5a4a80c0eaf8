/**
 * `turnfold/ai-sdk`: models and tools of the Vercel AI SDK. Needs the packages `@ai-sdk/provider` and, for tools,
 * `@ai-sdk/provider-utils`, which `ai` installs.
 */
export {
  type AiSdkLanguageModel,
  type AiSdkModelOptions,
  type AiSdkSettings,
  aiSdkModel,
} from './models/ai-sdk/ai-sdk-model.ts';
export type { ProviderOptions } from './models/ai-sdk/provider-traits.ts';
export { type AiSdkToolOptions, aiSdkTools } from './toolsets/ai-sdk-tools.ts';
