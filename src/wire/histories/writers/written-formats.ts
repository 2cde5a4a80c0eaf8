/** Formats of other programs. A module of its own, because loading the writers would slow down `--help`. */
export const WRITTEN_FORMATS = ['anthropic', 'openai-responses', 'ai-sdk', 'langchain', 'openai-chat'] as const;
export type WrittenFormat = (typeof WRITTEN_FORMATS)[number];
