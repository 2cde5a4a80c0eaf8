import { readJsonText } from '../../domain/json-text.ts';
import { isModelError, ModelError } from '../../domain/model.ts';
import { isMapping } from '../../domain/parse.ts';
import { ERROR_CHARACTERS, type FailedCall } from '../provider-call.ts';
import { classifyFailure, type ProviderFailure } from '../provider-errors.ts';

/**
 * Errors that no provider caused, by their names. Classes are not compared, because a process may hold several versions
 * of the packages.
 */
const SETTING_ERRORS: Readonly<Record<string, string>> = {
  AI_LoadAPIKeyError: 'the API key of the provider is not set',
  AI_LoadSettingError: 'a setting of the provider is missing',
  AI_NoSuchModelError: 'the model does not exist',
  AI_UnsupportedFunctionalityError: 'the model does not support a part or a setting of the request',
  AI_InvalidArgumentError: 'the model does not support a setting of the request',
  AI_InvalidPromptError: 'the model does not support a part of the request',
  AI_UnsupportedModelVersionError: 'the model has another specification version than v3 or v4',
};

/** Converts an error into a `ModelError`. @throws the signal's reason if the signal ended the call */
export function classifyAiSdkError(given: unknown, { signal, describe }: FailedCall): ModelError {
  signal.throwIfAborted();
  if (isModelError(given)) return given;
  // If a custom provider uses the SDK's own retries, they wrap the last error.
  const error = isMapping(given) && given['name'] === 'AI_RetryError' ? given['lastError'] : given;
  const { name, cause } = isMapping(error) ? error : {};
  const words = typeof name === 'string' && Object.hasOwn(SETTING_ERRORS, name) ? SETTING_ERRORS[name] : undefined;
  if (words !== undefined) return new ModelError('fatal', words, { code: String(name), cause });
  return classifyFailure(readFailure(error), Date.now(), describe);
}

/**
 * Reads an error of a provider. Any other error may quote model output, which must not be matched against the table of
 * errors.
 */
function readFailure(error: unknown): ProviderFailure {
  if (typeof error === 'string') return { message: error };
  if (!isMapping(error)) return { message: '' };
  const { statusCode, responseHeaders, responseBody, message, type, code } = error;
  const isOfProvider = 'statusCode' in error || 'responseBody' in error || 'type' in error || 'code' in error;
  if (!isOfProvider || (error['name'] !== undefined && !isApiError(error['name']))) return { message: '' };
  const body = readErrorBody(responseBody);
  const headers = isMapping(responseHeaders) ? responseHeaders : {};
  const aws = headers['x-amzn-errortype'];
  const awsType = typeof aws === 'string' ? aws.split(':')[0] : undefined;
  return {
    // The status counts only for a whole response. Inside a stream, the package guesses the status of an error.
    status: 'name' in error && typeof statusCode === 'number' ? statusCode : undefined,
    type: body.type ?? type ?? awsType,
    code: body.code ?? code,
    message: body.message ?? (typeof message === 'string' ? message : ''),
    headers: { get: (header) => (typeof headers[header] === 'string' ? headers[header] : null) },
  };
}

/** True for an error of a provider or of the gateway. Names of the gateway's errors begin with `Gateway`. */
function isApiError(name: unknown): boolean {
  return name === 'AI_APICallError' || String(name).startsWith('Gateway');
}

interface ErrorBody {
  readonly message?: string;
  readonly type?: unknown;
  readonly code?: unknown;
}

/** Reads the error of a body. Providers nest the error in different ways, and Gemini puts it into a list. */
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
