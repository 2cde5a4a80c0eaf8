/** The part of the Responses API that we write. The types are our own, so nothing here depends on the SDK. */

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

/** Has no id, because the server accepts an id only behind the reasoning that came with the id (R3). */
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
 * Items that this code writes. Verbatim items of the provider may have other types: reasoning (R2–R6), calls of its own
 * tools, compactions (R8).
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
  /** R7: every request sends the whole history, so the server need not store responses. */
  readonly store: false;
  readonly include?: 'reasoning.encrypted_content'[];
}
