/**
 * Types for the part of a Chat Completions request that turnfold writes. The types are declared here so that this code
 * does not depend on the SDK.
 */

export interface ChatTextPart {
  readonly type: 'text';
  readonly text: string;
}

export interface ChatImagePart {
  readonly type: 'image_url';
  readonly image_url: { readonly url: string };
}

export interface ChatFilePart {
  readonly type: 'file';
  readonly file: { readonly filename: string; readonly file_data: string };
}

export type ChatPart = ChatTextPart | ChatImagePart | ChatFilePart;

export interface ChatCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}

export interface ChatSystemMessage {
  readonly role: 'system' | 'developer';
  readonly content: string | ChatTextPart[];
}

export interface ChatUserMessage {
  readonly role: 'user';
  readonly content: string | ChatPart[];
}

/**
 * An assistant message. A message that is sent back verbatim may have more fields of its server, such as reasoning
 * (wire rule C7) and signatures.
 */
export interface ChatAssistantMessage {
  readonly role: 'assistant';
  /** The content may be null only if the message has tool calls (wire rule C3). */
  readonly content: string | null;
  readonly tool_calls?: ChatCall[];
}

export interface ChatToolMessage {
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
  /** Output limit, under the name that some OpenAI-compatible servers require. */
  readonly max_tokens?: number;
}
