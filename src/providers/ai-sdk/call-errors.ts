import { readJsonText } from '../../domain/json-text.ts';
import { isModelError, ModelError } from '../../domain/model.ts';
import { isMapping } from '../../domain/parse.ts';
import { ERROR_CHARACTERS } from '../provider-call.ts';
import { classifyFailure, type FailedCall, type ProviderFailure } from '../provider-errors.ts';

/** Names of errors that no provider caused. Classes would differ if a process had several versions of a package. */
const SETTING_ERRORS: Readonly<Record<string, string>> = {
  AI_LoadAPIKeyError: 'the API key of the provider is not set',
  AI_LoadSettingError: 'a setting of the provider is missing',
  AI_NoSuchModelError: 'the model does not exist',
  AI_UnsupportedFunctionalityError: 'the model does not support a part or a setting of the request',
  AI_InvalidArgumentError: 'the model does not support a setting of the request',
  AI_InvalidPromptError: 'the model does not support a part of the request',
  AI_UnsupportedModelVersionError: 'the model has another specification version than v3 or v4',
};

export function classifyAiSdkError(given: unknown, { signal, describe }: FailedCall): ModelError {
  signal.throwIfAborted();
  if (isModelError(given)) return given;
  // The retries of the SDK, which a custom provider may use, wrap the last error.
  const error = isMapping(given) && given['name'] === 'AI_RetryError' ? given['lastError'] : given;
  const { name, cause } = isMapping(error) ? error : {};
  const words = typeof name === 'string' && Object.hasOwn(SETTING_ERRORS, name) ? SETTING_ERRORS[name] : undefined;
  if (words !== undefined) return new ModelError('fatal', words, { code: String(name), cause });
  return classifyFailure(readFailure(error), Date.now(), describe);
}

/** Reads a provider's error. Other errors may quote model output, which must not be matched against the error table. */
function readFailure(error: unknown): ProviderFailure {
  if (typeof error === 'string') return { message: error };
  if (!isMapping(error) || !isOfProvider(error)) return { message: '' };
  const { statusCode, responseHeaders, responseBody, message, type, code } = error;
  const body = readErrorBody(responseBody);
  const headers = isMapping(responseHeaders) ? responseHeaders : {};
  const headerOf = (name: string): string | null => (typeof headers[name] === 'string' ? headers[name] : null);
  return {
    // Inside a stream, the package guesses a status, so only a whole response counts.
    status: 'name' in error && typeof statusCode === 'number' ? statusCode : undefined,
    type: body.type ?? type ?? headerOf('x-amzn-errortype')?.split(':')[0],
    code: body.code ?? code,
    message: body.message ?? (typeof message === 'string' ? message : ''),
    headers: { get: headerOf },
  };
}

function isOfProvider(error: Readonly<Record<string, unknown>>): boolean {
  const isMarked = ['statusCode', 'responseBody', 'type', 'code'].some((field) => field in error);
  return isMarked && (error['name'] === undefined || isApiError(error['name']));
}

/** Names of the AI gateway's errors begin with `Gateway`. */
function isApiError(name: unknown): boolean {
  return name === 'AI_APICallError' || String(name).startsWith('Gateway');
}

interface ErrorBody {
  readonly message?: string;
  readonly type?: unknown;
  readonly code?: unknown;
}

/** Providers nest the error of a body in different ways, and Gemini puts the error into a list. */
function readErrorBody(text: unknown): ErrorBody {
  if (typeof text !== 'string' || text.length > ERROR_CHARACTERS) return {};
  const body = readJsonText(text);
  const [first] = Array.isArray(body) ? (body as unknown[]) : [body];
  if (!isMapping(first)) return {};
  const response = isMapping(first['response']) ? first['response'] : {};
  const error = first['error'] ?? response['error'] ?? first;
  if (typeof error === 'string') return { message: error, code: first['code'] };
  if (!isMapping(error)) return {};
  const { message = first['message'], type, status, code } = error;
  return { ...(typeof message === 'string' && { message }), type: type ?? status, code };
}
