import { aiSdkWriter } from './ai-sdk.ts';
import { anthropicWriter } from './anthropic.ts';
import { langchainWriter, openaiChatWriter } from './openai-chat.ts';
import { responsesWriter } from './openai-responses.ts';
import type { HistoryWriter } from './writer.ts';

export const WRITERS: readonly HistoryWriter[] = [
  anthropicWriter,
  responsesWriter,
  aiSdkWriter,
  langchainWriter,
  openaiChatWriter,
];

export const WRITTEN_FORMATS: readonly string[] = WRITERS.map(({ name }) => name);

export function findWriter(name: string): HistoryWriter | undefined {
  return WRITERS.find((writer) => writer.name === name);
}
