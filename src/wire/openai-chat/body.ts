/** The part of a Chat Completions request that turnfold writes, declared without the SDK. */

export interface ChatTextPart {
  readonly type: 'text';
  readonly text: string;
}

interface ChatImagePart {
  readonly type: 'image_url';
  readonly image_url: { readonly url: string };
}

interface ChatFilePart {
  readonly type: 'file';
  readonly file: { readonly filename: string; readonly file_data: string };
}

export type ChatPart = ChatTextPart | ChatImagePart | ChatFilePart;

interface ChatCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}

interface ChatSystemMessage {
  readonly role: 'system' | 'developer';
  readonly content: string | ChatTextPart[];
}

export interface ChatUserMessage {
  readonly role: 'user';
  readonly content: string | ChatPart[];
}

/** A message that is sent back verbatim may have more fields, such as reasoning (wire rule C7). */
export interface ChatAssistantMessage {
  readonly role: 'assistant';
  /** Null only beside tool calls (wire rule C3). */
  readonly content: string | null;
  readonly tool_calls?: ChatCall[];
}

interface ChatToolMessage {
  readonly role: 'tool';
  readonly tool_call_id: string;
  readonly content: string;
}

export type ChatMessage = ChatSystemMessage | ChatUserMessage | ChatAssistantMessage | ChatToolMessage;

export interface ChatTool {
  readonly type: 'function';
  readonly function: {
    readonly name: string;
    readonly description: string;
    readonly parameters: Record<string, unknown>;
  };
}

export interface ChatBody {
  readonly model: string;
  readonly messages: ChatMessage[];
  readonly tools?: ChatTool[];
  readonly max_completion_tokens?: number;
  /** The same limit as `max_completion_tokens`, for compatible servers that require this older name. */
  readonly max_tokens?: number;
}
