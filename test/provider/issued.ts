import { type JsonObject, readText } from './json.ts';

/** Items that the test server has issued. Later requests are checked against them. */
export class Issued {
  /** Signatures of the thinking blocks in an answer, by the id of each tool call in the answer. */
  readonly #thinking = new Map<string, readonly string[]>();
  /** `reasoning_content` of an answer, by the id of each tool call in the answer. */
  readonly #reasoning = new Map<string, string>();
  /** Id of the reasoning item of an item, by the item's id. */
  readonly #reasoningOf = new Map<string, string>();
  /** The item that followed a reasoning item, by the reasoning item's id. */
  readonly #companions = new Map<string, JsonObject>();

  recordThinking(callIds: readonly string[], signatures: readonly string[]): void {
    for (const id of callIds) this.#thinking.set(id, signatures);
  }

  thinkingBeside(callId: string): readonly string[] | undefined {
    return this.#thinking.get(callId);
  }

  recordReasoning(callIds: readonly string[], reasoning: string): void {
    for (const id of callIds) this.#reasoning.set(id, reasoning);
  }

  reasoningBeside(callId: string): string | undefined {
    return this.#reasoning.get(callId);
  }

  /** @param items items of one response, in order */
  recordItems(items: readonly JsonObject[]): void {
    let reasoning: string | undefined;
    for (const [index, item] of items.entries()) {
      const id = readText(item['id']);
      if (item['type'] === 'reasoning') {
        reasoning = id;
        const next = items[index + 1];
        if (next !== undefined) this.#companions.set(id, next);
      } else if (reasoning !== undefined) this.#reasoningOf.set(id, reasoning);
    }
  }

  reasoningOf(itemId: string): string | undefined {
    return this.#reasoningOf.get(itemId);
  }

  companionOf(reasoningId: string): JsonObject | undefined {
    return this.#companions.get(reasoningId);
  }
}
