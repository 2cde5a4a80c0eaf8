/** What the Messages API takes, as far as we write it. Our own types, so that nothing here depends on its SDK. */

/** Everything up to and with the block that bears it may be cached (A9). */
export interface CacheControl {
  readonly type: 'ephemeral';
}

export interface TextBlock {
  readonly type: 'text';
  readonly text: string;
  readonly cache_control?: CacheControl;
}

export interface ImageBlock {
  readonly type: 'image';
  readonly source:
    | { readonly type: 'base64'; readonly media_type: ImageMediaType; readonly data: string }
    | { readonly type: 'url'; readonly url: string };
  readonly cache_control?: CacheControl;
}

export type ImageMediaType = 'image/jpeg' | 'image/png' | 'image/gif' | 'image/webp';

export interface ToolUseBlock {
  readonly type: 'tool_use';
  readonly id: string;
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly cache_control?: CacheControl;
}

export interface ToolResultBlock {
  readonly type: 'tool_result';
  readonly tool_use_id: string;
  readonly content: (TextBlock | ImageBlock)[];
  readonly is_error?: true;
  readonly cache_control?: CacheControl;
}

export interface ThinkingBlock {
  readonly type: 'thinking';
  readonly thinking: string;
  readonly signature: string;
}

export interface RedactedThinkingBlock {
  readonly type: 'redacted_thinking';
  readonly data: string;
}

/**
 * The kinds that the code here looks at. Blocks that the provider wrote go back verbatim, and may be of other kinds as well:
 * server tools with their results (A11), its own compaction (A10).
 */
export type AnthropicBlock =
  | TextBlock
  | ImageBlock
  | ToolUseBlock
  | ToolResultBlock
  | ThinkingBlock
  | RedactedThinkingBlock;

export interface AnthropicMessage {
  readonly role: 'user' | 'assistant';
  readonly content: AnthropicBlock[];
}

export interface AnthropicTool {
  readonly name: string;
  readonly description: string;
  readonly input_schema: { readonly type: 'object'; readonly [key: string]: unknown };
  readonly cache_control?: CacheControl;
}

/** Which values a model takes is the adapter's to know. */
export type AnthropicThinking =
  | {
      readonly type: 'enabled';
      /** tokens that may go into thinking */
      readonly budget_tokens: number;
    }
  | { readonly type: 'adaptive' };

export interface AnthropicBody {
  readonly model: string;
  readonly max_tokens: number;
  readonly system?: TextBlock[];
  readonly messages: AnthropicMessage[];
  readonly tools?: AnthropicTool[];
  readonly thinking?: AnthropicThinking;
}
