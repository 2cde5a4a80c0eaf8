/** What the Responses API takes, as far as we write it. Our own types, so that nothing here depends on its SDK. */

export interface InputText {
  readonly type: 'input_text';
  readonly text: string;
}

export interface InputImage {
  readonly type: 'input_image';
  readonly image_url: string;
  readonly detail: 'auto';
}

export interface UserItem {
  readonly type: 'message';
  readonly role: 'user' | 'developer';
  readonly content: (InputText | InputImage)[];
}

/** Without an id: the server's own are only good beside the reasoning that they came with (R3). */
export interface AssistantItem {
  readonly role: 'assistant';
  readonly content: string;
}

export interface FunctionCallItem {
  readonly type: 'function_call';
  readonly call_id: string;
  readonly name: string;
  readonly arguments: string;
}

export interface FunctionOutputItem {
  readonly type: 'function_call_output';
  readonly call_id: string;
  readonly output: string | (InputText | InputImage)[];
}

/**
 * The kinds that the code here writes. Items that the provider wrote go back verbatim, and may be of other kinds as well:
 * reasoning (R2–R6), its own tools' calls, its own compaction (R8).
 */
export type ResponsesItem = UserItem | AssistantItem | FunctionCallItem | FunctionOutputItem;

export interface ResponsesTool {
  readonly type: 'function';
  readonly name: string;
  readonly description: string;
  readonly parameters: Record<string, unknown>;
  readonly strict: false;
}

export interface ResponsesBody {
  readonly model: string;
  readonly instructions?: string;
  readonly input: ResponsesItem[];
  readonly tools?: ResponsesTool[];
  readonly max_output_tokens: number;
  /** R7: we keep the history, so nothing refers to what a server kept */
  readonly store: false;
  readonly include?: 'reasoning.encrypted_content'[];
}
