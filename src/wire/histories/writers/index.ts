import { aiSdkWriter } from './ai-sdk.ts';
import { anthropicWriter } from './anthropic.ts';
import { langchainWriter, openaiChatWriter } from './openai-chat.ts';
import { responsesWriter } from './openai-responses.ts';
import type { HistoryWriter } from './writer.ts';
import { WRITTEN_FORMATS, type WrittenFormat } from './written-formats.ts';

const BY_FORMAT: Readonly<Record<WrittenFormat, HistoryWriter>> = {
  anthropic: anthropicWriter,
  'openai-responses': responsesWriter,
  'ai-sdk': aiSdkWriter,
  langchain: langchainWriter,
  'openai-chat': openaiChatWriter,
};

export const WRITERS: readonly HistoryWriter[] = WRITTEN_FORMATS.map((format) => BY_FORMAT[format]);

export function findWriter(name: string): HistoryWriter | undefined {
  return WRITERS.find((writer) => writer.name === name);
}
