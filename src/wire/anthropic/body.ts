/** The part of an Anthropic Messages request that turnfold writes, declared without the SDK. */

/** The provider may cache the request up to this block (wire rule A9). */
export interface CacheControl {
  readonly type: 'ephemeral';
  readonly ttl?: '1h';
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

export interface DocumentBlock {
  readonly type: 'document';
  readonly source:
    | { readonly type: 'base64'; readonly media_type: 'application/pdf'; readonly data: string }
    | { readonly type: 'url'; readonly url: string };
  readonly title?: string;
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
  readonly content: (TextBlock | ImageBlock | DocumentBlock)[];
  readonly is_error?: true;
  readonly cache_control?: CacheControl;
}

interface ThinkingBlock {
  readonly type: 'thinking';
  readonly thinking: string;
  readonly signature: string;
}

interface RedactedThinkingBlock {
  readonly type: 'redacted_thinking';
  readonly data: string;
}

/** Blocks that are sent back verbatim may have other types: server tools, compactions. */
export type AnthropicBlock =
  | TextBlock
  | ImageBlock
  | DocumentBlock
  | ToolUseBlock
  | ToolResultBlock
  | ThinkingBlock
  | RedactedThinkingBlock;

export type AnthropicMessage =
  | { readonly role: 'user' | 'assistant'; readonly content: AnthropicBlock[] }
  | { readonly role: 'system'; readonly content: TextBlock[] };

export interface AnthropicTool {
  readonly name: string;
  readonly description: string;
  readonly input_schema: { readonly type: 'object'; readonly [key: string]: unknown };
  readonly cache_control?: CacheControl;
}

/** Smallest `budget_tokens` for thinking that the API accepts. */
export const MIN_THINKING_TOKENS = 1_024;

type ThinkingDisplay = 'summarized' | 'omitted';

export type AnthropicThinking =
  | {
      readonly type: 'enabled';
      /** Less than `max_tokens`. */
      readonly budget_tokens: number;
      readonly display?: ThinkingDisplay;
    }
  | { readonly type: 'adaptive'; readonly display?: ThinkingDisplay }
  | { readonly type: 'disabled' }
  | { readonly type: 'between_tools' };

export interface AnthropicBody {
  readonly model: string;
  readonly max_tokens: number;
  readonly system?: TextBlock[];
  readonly messages: AnthropicMessage[];
  readonly tools?: AnthropicTool[];
  readonly thinking?: AnthropicThinking;
}
