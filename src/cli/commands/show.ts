import type { CommandContext } from '../command-context.ts';
import { writeJson } from '../output.ts';

export interface ReadOptions {
  readonly json: boolean;
  readonly tenant: string;
}

const PREVIEW_CHARACTERS = 160;

/** Prints what an agent still knows: the context at the live version, or at a kept one. */
export async function showContext(
  { client, output }: CommandContext,
  id: string,
  options: ReadOptions & { readonly version?: number; readonly full: boolean },
): Promise<number> {
  const at = options.version === undefined ? {} : { version: options.version };
  const view = await client.context({ tenant: options.tenant, id }, at);
  if (options.json) {
    writeJson(output, view);
    return 0;
  }
  output.line(
    `${view.conversation}  version ${view.version}, head ${view.head}, ${view.tokens} tokens in ${view.items.length} messages`,
  );
  for (const { from, to, tokens, message } of view.items) {
    const range = from === to ? String(from) : `${from}-${to}`;
    const calls = (message.toolCalls ?? []).map((call) => `${call.name}(${call.arguments})`).join(' ');
    const text = [message.content, calls].filter((part) => part !== '').join(' ');
    output.line(
      `${range.padStart(9)}  ${message.role.padEnd(10)} ${String(tokens).padStart(6)}  ${options.full ? text : preview(text)}`,
    );
  }
  return 0;
}

/** Prints the kept versions of a conversation, oldest first. */
export async function showVersions(
  { client, output }: CommandContext,
  id: string,
  options: ReadOptions,
): Promise<number> {
  const versions = (await client.versions({ tenant: options.tenant, id })).toReversed();
  for (const version of versions) {
    if (options.json) {
      writeJson(output, version);
      continue;
    }
    const { number, strategy, reasons, archived, tokensBefore, tokensAfter, explained } = version;
    const notes = explained.length === 0 ? '' : `  (${explained.join(', ')})`;
    output.line(
      `${String(number).padStart(4)}  ${strategy.padEnd(9)}  ${tokensBefore} → ${tokensAfter} tokens, ${archived} archived  ${reasons.join(', ')}${notes}`,
    );
  }
  if (versions.length === 0 && !options.json) output.line('no version yet: the whole log is the context');
  return 0;
}

function preview(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length <= PREVIEW_CHARACTERS ? line : `${line.slice(0, PREVIEW_CHARACTERS - 1).toWellFormed()}…`;
}
