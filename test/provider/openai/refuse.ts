import type { Refusal } from '../refusal.ts';

export function refuse(rule: string, message: string, about: Pick<Refusal, 'param' | 'code'> = {}): Refusal {
  return { rule, status: 400, type: 'invalid_request_error', message, param: null, code: null, ...about };
}

/** Refuses a value of the wrong type with the error of the provider's schema check. */
export function refuseValue(rule: string, param: string, what: string, code: string): Refusal {
  return refuse(rule, `Invalid '${param}': ${what}`, { param, code });
}

export function refuseEmptyArray(param: string): Refusal {
  const what = 'empty array. Expected an array with minimum length 1, but got an empty array instead.';
  return refuseValue('X3', param, what, 'empty_array');
}

export function refuseLongArray(param: string, length: number, maxLength: number): Refusal {
  const what = `array too long. Expected an array with maximum length ${maxLength}, but got an array with length ${length} instead.`;
  return refuseValue('X9', param, what, 'array_above_max_length');
}

export function refuseLongText(rule: string, param: string, text: string, maxLength: number): Refusal {
  const what = `string too long. Expected a string with maximum length ${maxLength}, but got a string with length ${text.length} instead.`;
  return refuseValue(rule, param, what, 'string_above_max_length');
}

export function refuseMissing(rule: string, param: string): Refusal {
  return refuse(rule, `Missing required parameter: '${param}'.`, { param, code: 'missing_required_parameter' });
}

export function refuseUnknown(param: string): Refusal {
  return refuse('request', `Unknown parameter: '${param}'.`, { param, code: 'unknown_parameter' });
}

export function refuseType(rule: string, param: string, expected: string, given: unknown): Refusal {
  const message = `Invalid type for '${param}': expected ${expected}, but got ${nameType(given)} instead.`;
  return refuse(rule, message, { param, code: 'invalid_type' });
}

export function refuseChoice(rule: string, param: string, given: string, choices: readonly string[]): Refusal {
  const named = choices.map((choice) => `'${choice}'`);
  const last = named.pop() ?? '';
  const values = named.length > 1 ? `${named.join(', ')}, and ${last}` : [...named, last].join(' and ');
  return refuse(rule, `Invalid value: '${given}'. Supported values are: ${values}.`, { param, code: 'invalid_value' });
}

function nameType(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object') return 'an object';
  return typeof value === 'number' ? 'an integer' : `a ${typeof value}`;
}
