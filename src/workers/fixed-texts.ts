import { createHash } from 'node:crypto';
import type { ToolDescription } from '../domain/model.ts';
import type { Policy } from '../domain/policy.ts';

/** What every request of an agent holds before its first message. */
export interface FixedTexts {
  /** system prompt and pins, as they are sent */
  readonly system: string;
  /** as JSON; '' where there are none */
  readonly tools: string;
  readonly hashes: Readonly<Record<'system' | 'tools' | 'pins', string>>;
  /** those that there are, by their hashes: what a version was made under can be shown later */
  readonly byHash: ReadonlyMap<string, string>;
}

/** Pins stand behind the system prompt: changed, they leave what a provider's cache holds of it. */
export function fixTexts(prompt: string, { pins }: Policy, descriptions: readonly ToolDescription[]): FixedTexts {
  const tools = writeList(descriptions);
  const texts = { system: prompt, tools, pins: writeList(pins) };
  const hashes = { system: hashOf(texts.system), tools: hashOf(texts.tools), pins: hashOf(texts.pins) };
  const present = Object.values(texts).filter((text) => text !== '');
  return {
    system: [prompt, ...pins].filter((text) => text !== '').join('\n\n'),
    tools,
    hashes,
    byHash: new Map(present.map((text) => [hashOf(text), text])),
  };
}

/** Short enough for keys, long enough that two contents of one conversation do not meet. */
export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

function writeList(items: readonly unknown[]): string {
  return items.length === 0 ? '' : JSON.stringify(items);
}
