import type Anthropic from '@anthropic-ai/sdk';
import type { ToolCall } from '../../domain/message.ts';
import { readCallArguments } from '../../wire/call-arguments.ts';

/** What the model wrote as its calls' inputs, letter by letter: parsed and written again, long numbers lose their digits. */
export class InputTexts {
  /** by the block's place in the answer */
  readonly #texts = new Map<number, string>();

  hear(event: Anthropic.MessageStreamEvent): void {
    if (event.type !== 'content_block_delta' || event.delta.type !== 'input_json_delta') return;
    this.#texts.set(event.index, (this.#texts.get(event.index) ?? '') + event.delta.partial_json);
  }

  /**
   * The answer's calls, with the arguments as they were written wherever those are a JSON object: what a cut left of one is not.
   * @param calls of the content, in its order
   */
  restore(content: Anthropic.Message['content'], calls: readonly ToolCall[]): ToolCall[] {
    const places = content.flatMap(({ type }, place) => (type === 'tool_use' ? [place] : []));
    return calls.map((call, nth) => {
      const written = this.#texts.get(places[nth] ?? -1) ?? '';
      const isObject = readCallArguments({ arguments: written }).arguments === written;
      return isObject ? { ...call, arguments: written } : call;
    });
  }
}
