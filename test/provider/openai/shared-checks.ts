/** Checks that both formats of OpenAI share (wire rules X6, X7, X8). */
import { isObject, type JsonObject, parseJson, readObjects, readStrings, readText } from '../json.ts';
import type { Refusal } from '../refusal.ts';
import { refuse, refuseEmptyArray, refuseLongArray, refuseLongText, refuseType, refuseValue } from './refuse.ts';

const NAME = '^[a-zA-Z0-9_-]+$';
const MAX_NAME_LENGTH = 64;
const MAX_TOOLS = 128;
const NOT_AT_THE_TOP = ['oneOf', 'anyOf', 'allOf', 'enum', 'not'];

export function* checkEncoding(body: JsonObject): Iterable<Refusal> {
  for (const text of readStrings(body)) {
    if (!text.isWellFormed()) {
      yield refuse(
        'X8',
        "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON. If you have trouble figuring out how to fix this, please contact us through our help center at help.openai.com.)",
      );
    }
  }
}

/** @param functionOf returns the name and schema of a tool */
export function* checkTools(
  { tools }: JsonObject,
  functionOf: (tool: JsonObject, path: string) => { readonly definition: JsonObject; readonly path: string },
): Iterable<Refusal> {
  if (tools === undefined) return;
  if (Array.isArray(tools) && tools.length === 0) yield refuseEmptyArray('tools');
  if (Array.isArray(tools) && tools.length > MAX_TOOLS) yield refuseLongArray('tools', tools.length, MAX_TOOLS);
  for (const [index, tool] of readObjects(tools).entries()) {
    if (tool['type'] !== 'function') continue;
    const { definition, path } = functionOf(tool, `tools[${index}]`);
    yield* checkName(`${path}.name`, readText(definition['name']));
    yield* checkParameters(`${path}.parameters`, definition);
  }
}

function* checkParameters(param: string, { name, parameters }: JsonObject): Iterable<Refusal> {
  if (parameters === undefined) return;
  const kind = isObject(parameters) ? readText(parameters['type']) || 'None' : 'None';
  const isUnion = isObject(parameters) && NOT_AT_THE_TOP.some((key) => key in parameters);
  if (kind === 'object' && !isUnion) return;
  const words =
    kind === 'object'
      ? `schema must have type 'object' and not have ${NOT_AT_THE_TOP.map((key) => `'${key}'`).join('/')} at the top level.`
      : `schema must be a JSON Schema of 'type: "object"', got 'type: "${kind}"'.`;
  yield refuse('X6', `Invalid schema for function '${readText(name)}': ${words}`, {
    param,
    code: 'invalid_function_parameters',
  });
}

export function* checkName(param: string, name: string): Iterable<Refusal> {
  if (name === '') {
    const what = 'empty string. Expected a string with minimum length 1, but got an empty string instead.';
    yield refuseValue('X6', param, what, 'empty_string');
  } else if (!new RegExp(NAME).test(name)) {
    const what = `string does not match pattern. Expected a string that matches the pattern '${NAME}'.`;
    yield refuseValue('X6', param, what, 'invalid_value');
  } else if (name.length > MAX_NAME_LENGTH) yield refuseLongText('X6', param, name, MAX_NAME_LENGTH);
}

/**
 * Requires a JSON object as arguments. OpenAI accepts any text, but servers that render arguments into a chat template
 * do not.
 */
export function* checkArguments(rule: string, param: string, given: unknown): Iterable<Refusal> {
  if (typeof given !== 'string') yield refuseType(rule, param, 'a string', given);
  else if (!isObject(parseJson(given))) {
    yield refuseValue('X7', param, 'Expected a JSON object as a string.', 'invalid_value');
  }
}
