import type { ToolOutput } from '../../domain/agent.ts';
import type { Message, WeighedMessage } from '../../domain/message.ts';
import { readPart } from '../../domain/parts.ts';
import type { TokenCounter } from '../../wire/tokens/token-counter.ts';
import { type ClipBounds, type ClippedResult, clipResult } from './tool-output.ts';

interface ClipPorts {
  readonly counter: TokenCounter;
  readonly weigh: (message: Message) => Promise<WeighedMessage>;
}

type ClippedOutput = ClippedResult & Pick<Message, 'parts'>;

/**
 * Clips a result with images and files. Its texts together have at most `maxTokens`, and so do its images and files:
 * those beyond the limit become notes. The order of texts and images stays unless the texts were clipped.
 */
export async function clipOutput(
  { counter, weigh }: ClipPorts,
  { content, parts }: Pick<ToolOutput, 'content' | 'parts'>,
  bounds: ClipBounds,
): Promise<ClippedOutput> {
  if (parts === undefined) return await clipResult(counter, content, bounds);
  const all: unknown[] = content === '' ? [...parts] : [writeText(content), ...parts];
  const text = joinTexts(all);
  const { content: kept, whole } = await clipResult(counter, text, bounds);
  const laid = kept === text ? all : [writeText(kept), ...all.filter((part) => !isText(part))];
  const fitting: unknown[] = [];
  let left = bounds.maxTokens;
  for (const part of laid) {
    const tokens = isText(part) ? 0 : (await weigh({ role: 'tool', content: '', parts: [part] })).tokens;
    if (tokens <= left) fitting.push(part);
    else
      fitting.push(
        writeText(`(${describe(part)} of about ${tokens} tokens is left out, because a result holds too much)`),
      );
    if (tokens <= left) left -= tokens;
  }
  return { content: joinTexts(fitting), parts: fitting, ...(whole && { whole }) };
}

function writeText(text: string): unknown {
  return { type: 'text', text };
}

function isText(part: unknown): boolean {
  return readPart(part).kind === 'text';
}

function joinTexts(parts: readonly unknown[]): string {
  return parts
    .map(readPart)
    .flatMap((part) => (part.kind === 'text' ? [part.text] : []))
    .join('\n');
}

function describe(part: unknown): string {
  const read = readPart(part);
  const isImage = read.kind.startsWith('image') || (read.kind === 'reference' && read.mediaType.startsWith('image/'));
  return isImage ? 'an image' : 'a file';
}
