import { type Tool as AiSdkTool, asSchema, executeTool, type Schema, type ToolSet } from '@ai-sdk/provider-utils';
import type { z } from 'zod';
import type { OutputPart, Tool, ToolContext, ToolOutput } from '../../domain/agent.ts';
import { isTurnfoldError, TurnfoldError } from '../../domain/errors.ts';
import { PRELIMINARY_OUTPUT } from '../../domain/tool-notes.ts';
import { type InputSchema, inputOfJsonSchema } from './json-schema-input.ts';

/** Settings for all tools of one set, which the AI SDK's tools do not have. */
export type AiSdkToolOptions = Pick<Tool, 'retry' | 'timeoutMs' | 'answerWithinMs'>;

/**
 * Makes tools of an agent from tools of the AI SDK. `execute` gets turnfold's idempotency key as `toolCallId`, the same
 * on every retry of the call. `context` is what the caller passed with the turn, and `messages` is empty. A tool
 * without `execute` waits for its result from outside.
 * @throws invalid_config for a tool that turnfold cannot run, with the name of the tool
 */
export async function aiSdkTools(tools: ToolSet, options: AiSdkToolOptions = {}): Promise<Tool[]> {
  return await Promise.all(Object.entries(tools).map(([name, tool]) => adaptTool(name, tool as AiSdkTool, options)));
}

async function adaptTool(
  name: string,
  tool: AiSdkTool,
  { answerWithinMs, ...options }: AiSdkToolOptions,
): Promise<Tool> {
  const { description, needsApproval, execute } = checkTool(name, tool);
  const schema = asSchema(tool.inputSchema);
  const waits = execute === undefined || needsApproval;
  return {
    ...options,
    ...(waits && answerWithinMs !== undefined && { answerWithinMs }),
    name,
    description,
    input: isZod4(tool.inputSchema) ? tool.inputSchema : inputOfJsonSchema((await schema.jsonSchema) as InputSchema),
    needsApproval,
    ...(execute !== undefined && {
      run: (input: unknown, context: ToolContext) => runTool({ tool, schema }, input, context),
    }),
  };
}

function isZod4(schema: unknown): schema is z.ZodType {
  return typeof schema === 'object' && schema !== null && '_zod' in schema;
}

type RunnableFacts = { readonly description: string; readonly needsApproval: boolean; readonly execute: unknown };

function checkTool(name: string, { type, description = '', needsApproval = false, execute }: AiSdkTool): RunnableFacts {
  const refuse = (field: string, why: string): TurnfoldError => {
    const path = `tools.${name}.${field}`;
    return new TurnfoldError('invalid_config', `${path}: ${why}`, { field: path });
  };
  if (type === 'provider')
    throw refuse('type', 'the provider runs this tool. Pass it to aiSdkModel as one of providerTools');
  if (typeof description === 'function')
    throw refuse('description', 'expected a text, because the tools of an agent are the same for all turns');
  if (typeof needsApproval === 'function')
    throw refuse(
      'needsApproval',
      'expected true or false. To decide by call, check the input in execute and return an error',
    );
  return { description, needsApproval, execute };
}

/** Arguments are checked by their JSON Schema here, because the AI SDK's check may be asynchronous. */
async function runTool(
  { tool, schema }: { readonly tool: AiSdkTool; readonly schema: Schema },
  given: unknown,
  { idempotencyKey: toolCallId, signal: abortSignal, context, emit }: ToolContext,
): Promise<ToolOutput> {
  const checked = isZod4(tool.inputSchema) ? undefined : await schema.validate?.(given);
  if (checked?.success === false)
    return { content: 'invalid_input: the arguments do not match the schema of the tool', isError: true };
  const input: unknown = checked === undefined ? given : checked.value;
  let output: unknown;
  const runnable = tool as AiSdkTool & { execute: NonNullable<AiSdkTool['execute']> };
  for await (const step of executeTool({
    tool: runnable,
    input,
    options: { toolCallId, messages: [], abortSignal, context: context as never },
  })) {
    output = step.output;
    if (step.type === 'preliminary') showPreliminary(emit, output);
  }
  const written = await tool.toModelOutput?.({ toolCallId, input, output });
  return written === undefined ? { content: writeValue(output) } : readModelOutput(written);
}

/** A value that is too large for the stream is not shown. The result follows it anyway. */
function showPreliminary(emit: ToolContext['emit'], output: unknown): void {
  try {
    emit(PRELIMINARY_OUTPUT, output);
  } catch (error) {
    if (!isTurnfoldError(error)) throw error;
  }
}

function writeValue(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? 'null');
}

type ModelOutput = Awaited<ReturnType<NonNullable<AiSdkTool['toModelOutput']>>>;

function readModelOutput(output: ModelOutput): ToolOutput {
  switch (output.type) {
    case 'text':
    case 'json':
      return { content: writeValue(output.value) };
    case 'error-text':
    case 'error-json':
      return { content: writeValue(output.value), isError: true };
    case 'execution-denied':
      return { content: `denied: ${output.reason ?? 'the tool refused the call'}`, isError: true };
    case 'content': {
      const parts = output.value.map(readModelPart);
      if (parts.every(({ type }) => type === 'text')) {
        return { content: parts.map(({ text }) => String(text)).join('\n') };
      }
      return { content: '', parts };
    }
  }
}

/** `media` is the form of AI SDK 5. */
type ModelPart = Extract<ModelOutput, { type: 'content' }>['value'][number] | MediaPart;

interface MediaPart {
  readonly type: 'media';
  readonly data: string;
  readonly mediaType: string;
}

/** Content of a provider's own file store becomes a note, because the next provider may be another. */
function readModelPart(part: ModelPart): OutputPart {
  const note = { type: 'text', text: `(a part of type ${part.type} is not shown)` };
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text };
    case 'image-url':
      return { type: 'image', url: part.url };
    case 'file-url':
      return { type: typeOfMedia(part.mediaType), url: part.url };
    case 'media':
    case 'image-data':
    case 'file-data': {
      const name = 'filename' in part && part.filename !== undefined && { name: part.filename };
      return { type: typeOfMedia(part.mediaType), data: part.data, mediaType: part.mediaType, ...name };
    }
    case 'file': {
      const { data, mediaType, filename: name } = part;
      const named = name !== undefined && { name };
      const type = typeOfMedia(mediaType);
      if (data.type === 'text') return { type: 'text', text: data.text };
      if (data.type === 'url') return { type, url: String(data.url), ...named };
      if (data.type !== 'data') return note;
      const bytes = data.data instanceof ArrayBuffer ? new Uint8Array(data.data) : data.data;
      return { type, data: bytes, mediaType, ...named };
    }
    default:
      return note;
  }
}

function typeOfMedia(mediaType = ''): 'image' | 'file' {
  return mediaType.startsWith('image/') ? 'image' : 'file';
}
