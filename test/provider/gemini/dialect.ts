import type { Dialect } from '../dialect.ts';
import { isObject, type JsonObject, readObjects, readText } from '../json.ts';
import { type Check, type CheckContext, findRefusal, type Refusal } from '../refusal.ts';
import { writeGeminiError, writeGeminiRefusal } from './errors.ts';
import { renderGemini, signCall } from './render.ts';

const CHECKS: readonly Check[] = [checkContents, checkOrder, checkSignatures];

/** Gemini's `streamGenerateContent`. */
export const geminiDialect: Dialect = {
  format: 'gemini',
  callPrefix: '',
  requestIdHeader: 'x-request-id',
  authorize: (headers, apiKey) =>
    apiKey === undefined || headers['x-goog-api-key'] === apiKey
      ? undefined
      : refuse('request', 'API key not valid. Please pass a valid API key.'),
  refuse: (body, context) => findRefusal(CHECKS, body, context),
  render: renderGemini,
  writeRefusal: writeGeminiRefusal,
  writeError: writeGeminiError,
  writeStreamError: ({ body }) => [{ data: body }],
  writeRetryAfter: () => ({}),
};

function refuse(rule: string, message: string): Refusal {
  return { rule, status: 400, type: 'INVALID_ARGUMENT', message };
}

interface Content {
  readonly role: string;
  readonly parts: readonly JsonObject[];
  readonly calls: readonly JsonObject[];
  readonly responses: readonly JsonObject[];
}

function readContents(body: JsonObject): Content[] {
  return readObjects(body['contents']).map(({ role, parts }) => {
    const given = readObjects(parts);
    return {
      role: readText(role),
      parts: given,
      calls: given.filter((part) => isObject(part['functionCall'])),
      responses: given.filter((part) => isObject(part['functionResponse'])),
    };
  });
}

function* checkContents(body: JsonObject): Iterable<Refusal> {
  const contents = readContents(body);
  if (contents.length === 0) yield refuse('X3', '* GenerateContentRequest.contents: contents is not specified');
  for (const { role, parts } of contents) {
    if (role !== 'user' && role !== 'model') yield refuse('form', 'Please use a valid role: user, model.');
    if (parts.length === 0) yield refuse('X3', '* GenerateContentRequest.contents.parts: must not be empty.');
    for (const part of parts) {
      const data = ['text', 'functionCall', 'functionResponse', 'inlineData', 'fileData'].filter((key) => key in part);
      if (data.length !== 1)
        yield refuse('form', "contents.parts: required oneof field 'data' must have one initialized field");
    }
  }
}

/** Function calls follow a user turn or function responses, and every call has a response in the next turn. */
function* checkOrder(body: JsonObject): Iterable<Refusal> {
  const contents = readContents(body);
  for (const [index, { calls, responses }] of contents.entries()) {
    const next = contents[index + 1];
    const before = contents[index - 1];
    if (calls.length > 0 && before?.role !== 'user') {
      yield refuse(
        'X5',
        'Please ensure that function call turn comes immediately after a user turn or after a function response turn.',
      );
    }
    if (calls.length > 0 && next?.responses.length !== calls.length) {
      yield refuse(
        'X1',
        'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
      );
    }
    if (responses.length > 0 && before?.calls.length === 0) {
      yield refuse('X1', 'Please ensure that function response turn comes immediately after a function call turn.');
    }
  }
}

/** The first call of each step of the current turn has the signature that this server sent with it. */
function* checkSignatures(body: JsonObject, { issued }: CheckContext): Iterable<Refusal> {
  const contents = readContents(body);
  const start = contents.findLastIndex(({ role, responses }) => role === 'user' && responses.length === 0);
  for (const [index, { calls }] of contents.entries()) {
    const [first] = calls;
    if (index < start || first === undefined) continue;
    const { name, args } = first['functionCall'] as JsonObject;
    const given = first['thoughtSignature'];
    const isIssued = issued.reasoningBeside(signCall(name, args)) !== undefined;
    if (given === undefined && isIssued) {
      yield refuse(
        'A7',
        `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly: function call \`default_api:${readText(name)}\`, position ${index + 1}.`,
      );
    } else if (given !== undefined && given !== signCall(name, args))
      yield refuse('A8', 'Thought signature is not valid.');
  }
}
