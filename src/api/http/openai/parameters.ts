import { isDeepStrictEqual } from 'node:util';
import { fieldError, type TurnfoldError } from '../../../domain/errors.ts';
import { isMapping } from '../../../domain/parse.ts';
import type { OwnAnswer, OwnTool, TurnOwn } from '../../../domain/turn-own.ts';

/** `any`: the value changes nothing that the caller sees. A list has the values that mean what turnfold does anyway. */
type Rule = 'any' | readonly unknown[];

/** Parameters of both APIs of OpenAI that no turn can follow, with the values that need no following. */
const RULES: Readonly<Record<string, Rule>> = {
  user: 'any',
  safety_identifier: 'any',
  prompt_cache_key: 'any',
  prompt_cache_retention: 'any',
  stream_options: 'any',
  service_tier: ['auto', 'default'],
  temperature: [1],
  top_p: [1],
  presence_penalty: [0],
  frequency_penalty: [0],
  parallel_tool_calls: [true],
  top_logprobs: [0],
};

/**
 * Refuses parameters that turnfold would have to ignore. A caller who asks for a temperature must not get another one.
 * @param own rules of one API
 * @throws invalid_input with the name of the parameter
 */
export function refuseParameters(
  body: Readonly<Record<string, unknown>>,
  known: ReadonlySet<string>,
  own: Readonly<Record<string, Rule>>,
): void {
  const rules = { ...RULES, ...own };
  for (const [name, value] of Object.entries(body)) {
    if (known.has(name) || value === null || value === undefined) continue;
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
    if (rule === undefined) {
      throw refuse(name, 'unknown_parameter', 'turnfold does not know this parameter. Leave it out');
    }
    if (rule === 'any' || rule.some((taken) => isDeepStrictEqual(taken, value))) continue;
    const taken =
      rule.length === 0 ? '' : ` Values that are taken: ${rule.map((one) => JSON.stringify(one)).join(', ')}`;
    throw refuse(name, 'unsupported_value', `the agent has its own setting. Leave the parameter out.${taken}`);
  }
}

/** @param reason code in the terms of OpenAI */
export function refuse(field: string, reason: string, why: string): TurnfoldError {
  return fieldError('invalid_input', field, why, { details: { reason } });
}

interface ForeignTool {
  readonly type: string;
  readonly name?: unknown;
  readonly description?: unknown;
  readonly parameters?: unknown;
}

/** @param at path of the tool's function, such as `tools[0]` */
export function readOwnTool({ type, name, description, parameters }: ForeignTool, at: string): OwnTool {
  if (type !== 'function') {
    throw refuse(`${at}.type`, 'unsupported_value', `expected "function", and got "${type}". Agents have other tools`);
  }
  return {
    name: name as string, // checked with the turn, as the other fields are
    ...(typeof description === 'string' && description !== '' && { description }),
    parameters: (parameters ?? { type: 'object', properties: {} }) as OwnTool['parameters'],
  };
}

/** Keeps the only tool that a request allows, so that the model can call no other tool. */
export function readToolChoice(
  choice: unknown,
  tools: readonly OwnTool[],
): Pick<TurnOwn, 'toolChoice'> & { readonly tools: readonly OwnTool[] } {
  if (choice === undefined || choice === null) return { tools };
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { toolChoice: choice, tools };
  const allowed = readAllowedTools(choice);
  if (allowed === undefined) {
    const why = 'expected "auto", "none", "required", the name of a function, or the names of allowed functions';
    throw refuse('tool_choice', 'unsupported_value', why);
  }
  const named = tools.filter(({ name }) => allowed.names.includes(name));
  // A tool of the agent itself may have the name, which only its worker knows.
  return { toolChoice: allowed.mode, tools: named.length === 0 ? tools : named };
}

interface AllowedTools {
  readonly mode: 'auto' | 'required';
  readonly names: readonly string[];
}

/** Reads one function, or a list of allowed functions, in the forms of both APIs. */
function readAllowedTools(choice: unknown): AllowedTools | undefined {
  if (!isMapping(choice)) return undefined;
  if (choice['type'] !== 'allowed_tools') {
    const name = readFunctionName(choice);
    return name === undefined ? undefined : { mode: 'required', names: [name] };
  }
  const { mode, tools } = isMapping(choice['allowed_tools']) ? choice['allowed_tools'] : choice;
  if ((mode !== 'auto' && mode !== 'required') || !Array.isArray(tools)) return undefined;
  const names = tools.map(readFunctionName);
  return names.every((name) => name !== undefined) ? { mode, names } : undefined;
}

function readFunctionName(given: unknown): string | undefined {
  if (!isMapping(given) || given['type'] !== 'function') return undefined;
  const { name } = isMapping(given['function']) ? given['function'] : given;
  return typeof name === 'string' ? name : undefined;
}

interface ForeignFormat {
  readonly type: string;
  readonly name?: unknown;
  readonly schema?: unknown;
}

/** @param at path of the format */
export function readAnswerFormat(format: ForeignFormat | null | undefined, at: string): OwnAnswer | undefined {
  switch (format?.type ?? 'text') {
    case 'text':
      return undefined;
    case 'json_object':
      return { schema: { type: 'object' } };
    case 'json_schema':
      return {
        schema: format?.schema as OwnAnswer['schema'], // checked with the turn
        ...(typeof format?.name === 'string' && { name: format.name }),
      };
    default:
      throw refuse(`${at}.type`, 'unsupported_value', 'expected "text", "json_object" or "json_schema"');
  }
}
