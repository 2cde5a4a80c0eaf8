/** The part of a Responses request that turnfold writes, declared without the SDK. */

interface InputText {
  readonly type: 'input_text';
  readonly text: string;
}

interface InputImage {
  readonly type: 'input_image';
  readonly image_url: string;
  readonly detail: 'auto';
}

interface InputFile {
  readonly type: 'input_file';
  readonly filename?: string;
  readonly file_data?: string;
  readonly file_url?: string;
}

export type ResponsesPart = InputText | InputImage | InputFile;

interface UserItem {
  readonly type: 'message';
  readonly role: 'user' | 'developer';
  readonly content: ResponsesPart[];
}

/** Has no id: the server accepts an id only together with the answer's reasoning (wire rule R3). */
interface AssistantItem {
  readonly role: 'assistant';
  readonly content: string;
}

interface FunctionCallItem {
  readonly type: 'function_call';
  readonly call_id: string;
  readonly name: string;
  readonly arguments: string;
}

interface FunctionOutputItem {
  readonly type: 'function_call_output';
  readonly call_id: string;
  readonly output: string | ResponsesPart[];
}

/** Items that are sent back verbatim may have other types: reasoning, compactions, calls of the provider's tools. */
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
  /** Wire rule R7: each request sends the whole history, so the server stores nothing. */
  readonly store: false;
  readonly include?: 'reasoning.encrypted_content'[];
}
