import { writeBoundedJson } from './bounded-json.ts';
import { fieldError, TurnfoldError } from './errors.ts';
import { explainIssue } from './issue-text.ts';
import { findUnreadable, isMapping, joinPath, nameIssues } from './parse.ts';
import { type PolicyInput, policyInputSchema } from './policy.ts';
import { describeThrown } from './thrown.ts';

export interface ReadPolicy {
  /** Settings of the policy as they were read. */
  readonly policy: PolicyInput;
  readonly warnings: readonly string[];
}

/**
 * Reads settings at the top level or under `compact`, in camelCase or snake_case.
 * @param at path of the value in its file
 * @throws invalid_policy for the first problem, with its field
 */
export function readPolicy(value: unknown, at = ''): ReadPolicy {
  const { problems, ...read } = examinePolicy(value, at);
  if (problems[0] !== undefined) throw problems[0];
  return read;
}

export interface PolicyExamination extends ReadPolicy {
  /** All problems of the input. With a problem, `policy` is empty. */
  readonly problems: readonly TurnfoldError[];
}

/** Bounds of a policy, far above the needs of any policy. */
const POLICY_BOUNDS = { maxCharacters: 10_000_000, maxValues: 5_000 };
export const MAX_POLICY_SETTINGS = 100;

export function examinePolicy(value: unknown, at = ''): PolicyExamination {
  try {
    // Only the size is checked here. Later checks report other problems with the name of the setting.
    const written = writeBoundedJson(value, POLICY_BOUNDS);
    if (written.status === 'refused' && written.code === 'message_too_large') {
      return refusePolicy(joinPath(at, written.path) || 'policy', written.why);
    }
    return examineValue(value, at);
  } catch (error) {
    // A policy from a JavaScript module may have a getter that throws, or may contain itself.
    const field = joinPath(at, findUnreadable(value)) || 'policy';
    return refusePolicy(field, `cannot be read: reading it threw ${describeThrown(error).name}`);
  }
}

function examineValue(value: unknown, at: string): PolicyExamination {
  if (value === null || value === undefined) return { policy: {}, warnings: [], problems: [] };
  if (typeof value !== 'object' || Array.isArray(value)) {
    const error = new TurnfoldError('invalid_policy', `${at || 'policy'}: expected an object with settings`, {
      field: at,
    });
    return { policy: {}, warnings: [], problems: [error] };
  }
  const { keyed, problems: twice, spellings } = camelCaseKeys(value as Record<string, unknown>, at);
  const { transforms, ...fields } = keyed;
  const warnings =
    transforms === undefined ? [] : ['`transforms` is retired and ignored. Put the settings under `compact`'];
  const inner = fields.compact === undefined ? examineFields(fields, at) : examineCompact(fields, at);
  const problems = [...twice, ...inner.problems].map((problem) => spellAs(problem, spellings));
  return { policy: problems.length > 0 ? {} : inner.policy, warnings: [...warnings, ...inner.warnings], problems };
}

function examineCompact({ compact, ...others }: Record<string, unknown>, at: string): PolicyExamination {
  const strays = Object.keys(others).map((key) =>
    refusal(joinKeys(at, key), 'is outside of `compact`. Move it under `compact`'),
  );
  const inner = examineValue(compact, joinKeys(at, 'compact'));
  return { ...inner, problems: [...strays, ...inner.problems] };
}

function examineFields(fields: Record<string, unknown>, at: string): PolicyExamination {
  const unknown = Object.keys(fields).filter((key) => !isKnown(key));
  const strays = unknown.map((key) => refusal(joinKeys(at, key), 'a policy has no such setting'));
  const known = Object.fromEntries(Object.entries(fields).filter(([key]) => isKnown(key)));
  const { success, data, error } = policyInputSchema.safeParse(known, { error: explainIssue });
  const problems = [...strays, ...(success ? [] : nameIssues(error, at, 'invalid_policy'))];
  return { policy: data ?? {}, warnings: [], problems };
}

function isKnown(key: string): boolean {
  return Object.hasOwn(policyInputSchema.shape, key);
}

export function toCamelCase(key: string): string {
  return key.replace(/(?<=[a-z])_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function camelCaseKeys(
  value: Record<string, unknown>,
  at: string,
): {
  readonly keyed: Record<string, unknown>;
  readonly problems: readonly TurnfoldError[];
  readonly spellings: Spellings;
} {
  // A map, because an object would silently lose a value of the key `__proto__`.
  const keyed = new Map<string, unknown>();
  const problems: TurnfoldError[] = [];
  const spellings = new Map<string, string>();
  for (const [key, inner] of Object.entries(value)) {
    const camel = toCamelCase(key);
    const field = joinKeys(at, camel);
    if (camel !== key) spellings.set(field, joinKeys(at, key));
    if (keyed.has(camel))
      problems.push(refusal(field, `set twice, as ${key} and in another spelling. Remove one of them`));
    const convert = (given: unknown, path: string): unknown => {
      if (!isMapping(given)) return given;
      const nested = camelCaseKeys(given, path);
      problems.push(...nested.problems);
      for (const [place, written] of nested.spellings) spellings.set(place, written);
      return nested.keyed;
    };
    if (camel === 'summarizer' || camel === 'thinking') keyed.set(camel, convert(inner, field));
    else if (camel === 'models' && Array.isArray(inner))
      keyed.set(
        camel,
        inner.map((model, index) => convert(model, `${field}[${index}]`)),
      );
    else keyed.set(camel, inner);
  }
  return { keyed: Object.fromEntries(keyed), problems, spellings };
}

type Spellings = ReadonlyMap<string, string>;

function spellAs(problem: TurnfoldError, spellings: Spellings): TurnfoldError {
  const { field = '', message } = problem;
  const path = [...spellings.keys()].find(
    (key) => field === key || (/^[.[]/.test(field.slice(key.length)) && field.startsWith(key)),
  );
  if (path === undefined || !message.startsWith(`${field}: `)) return problem;
  const written = `${spellings.get(path)}${field.slice(path.length)}`;
  return refusal(written, message.slice(field.length + 2));
}

function joinKeys(at: string, key: string): string {
  return at === '' ? key : `${at}.${key}`;
}

function refusePolicy(at: string, why: string): PolicyExamination {
  return { policy: {}, warnings: [], problems: [refusal(at, why)] };
}

function refusal(at: string, why: string): TurnfoldError {
  return fieldError('invalid_policy', joinPath(at, []), why);
}
