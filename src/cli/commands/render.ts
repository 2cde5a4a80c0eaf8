import { adoptMessages } from '../../domain/history.ts';
import type { Message } from '../../domain/message.ts';
import { readRawItems, type WireFormat } from '../../domain/raw-items.ts';
import { readConversationLine } from '../../wire/conversation-line.ts';
import { wireFormats } from '../../wire/formats.ts';
import { readLines } from '../files.ts';
import { type Output, reportRefusal, writeJson } from '../output.ts';
import { readFormat } from '../read-format.ts';

export interface RenderOptions {
  readonly format: string;
  /** the provider's name of the model; absent: of the one that the conversation was last answered by in this format */
  readonly model?: string;
  /** the agent's prompt, which no log holds */
  readonly system?: string;
}

/** What is reserved for an answer where neither model nor policy says. */
const MAX_OUTPUT_TOKENS = 8_192;

/**
 * Prints, for each conversation of a file, the body of the request that would be sent with it: one JSON line each. Tools that
 * its calls name are described by stubs, since a file has none.
 * @returns the exit code
 * @throws invalid_input for a format that is not known
 */
export async function renderFile(path: string, options: RenderOptions, output: Output): Promise<number> {
  const format = readFormat(options.format);
  const { render } = wireFormats[format];
  let exitCode = 0;
  for await (const { number, line } of readLines(path)) {
    let id = `line-${number}`;
    try {
      const conversation = readConversationLine(line, number);
      id = conversation.id;
      const { messages } = adoptMessages(conversation.messages, 1);
      const model = options.model ?? findModel(messages, format);
      const request = { model, system: options.system ?? '', tools: [], messages, maxOutputTokens: MAX_OUTPUT_TOKENS };
      writeJson(output, render(request).body);
    } catch (error) {
      exitCode = reportRefusal(output, id, error);
    }
  }
  return exitCode;
}

/** Another model's thinking could not be sent back. */
function findModel(messages: readonly Message[], format: WireFormat): string {
  const answers = messages.map(readRawItems).filter((raw) => raw?.format === format);
  return answers.at(-1)?.model ?? 'unnamed';
}
