/** What Chat Completions takes, as far as we write it. Our own types, so that nothing here depends on its SDK. */

export interface ChatTextPart {
  readonly type: 'text';
  readonly text: string;
}

export interface ChatImagePart {
  readonly type: 'image_url';
  readonly image_url: { readonly url: string };
}

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
  readonly content: string | (ChatTextPart | ChatImagePart)[];
}

/** What its server wrote goes back verbatim, and may have fields that are none of ours: an open model's thinking (C7), signatures. */
export interface ChatAssistantMessage {
  readonly role: 'assistant';
  /** null beside calls only (C3) */
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
  /** what compatible servers know it by */
  readonly max_tokens?: number;
}
