import { aider } from './aider.ts';
import { aiSdk, anthropic, openaiChat, shareGpt } from './chat-lists.ts';
import { claudeCode } from './claude-code.ts';
import { cline } from './cline.ts';
import type { FileRecord, HistoryFormat } from './format.ts';
import { gemini } from './gemini.ts';
import { langchain } from './langchain.ts';
import { opencode } from './opencode.ts';
import { pi } from './pi.ts';
import { codex, responses } from './responses.ts';

/** The first format that recognizes a file reads it, so formats with marks of their own come first. */
const FORMATS: readonly HistoryFormat[] = [
  claudeCode,
  codex,
  pi,
  opencode,
  gemini,
  aider,
  shareGpt,
  responses,
  langchain,
  cline,
  aiSdk,
  anthropic,
  openaiChat,
];

export const FORMAT_NAMES: readonly string[] = FORMATS.map(({ name }) => name);

export function findFormat(name: string): HistoryFormat | undefined {
  return FORMATS.find((format) => format.name === name);
}

export function detectFormat(records: readonly FileRecord[]): HistoryFormat | undefined {
  return FORMATS.find((format) => format.recognizes(records));
}
