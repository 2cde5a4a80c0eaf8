import { aider } from './formats/aider.ts';
import { aiSdk, anthropic, openaiChat, shareGpt } from './formats/chat-lists.ts';
import { claudeCode } from './formats/claude-code.ts';
import { cline } from './formats/cline.ts';
import type { FileRecord, HistoryFormat } from './formats/format.ts';
import { gemini } from './formats/gemini.ts';
import { langchain } from './formats/langchain.ts';
import { opencode } from './formats/opencode.ts';
import { pi } from './formats/pi.ts';
import { codex, responses } from './formats/responses.ts';

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
