import type { Breach } from './rule.ts';
import type { BodyView } from './view.ts';

const LEGAL_NAME = /^[a-zA-Z0-9_-]+$/;

/** X6: every tool that is called is described in `tools`, under a name that its provider takes, and none of them twice. */
export function* describesTools(view: BodyView): Generator<Breach> {
  const { calls, tools, maxNameLength = Number.POSITIVE_INFINITY } = view;
  const described = new Set<string>();
  for (const { path, name } of tools) {
    if (!LEGAL_NAME.test(name)) yield { path, message: 'a name with other characters than a-zA-Z0-9_-' };
    if (name.length > maxNameLength) {
      yield { path, message: `a name of ${name.length} characters: at most ${maxNameLength}` };
    }
    if (described.has(name)) yield { path, message: 'the name of this tool stands twice' };
    described.add(name);
  }
  for (const { path, name, mayBeUndescribed } of calls) {
    if (mayBeUndescribed === true && described.size > 0) continue;
    if (name !== undefined && !described.has(name)) yield { path, message: 'the tool of this call is not in tools' };
  }
}

/** X7: arguments are a JSON object. */
export function* hasObjectArguments({ calls }: BodyView): Generator<Breach> {
  for (const call of calls) {
    if ('input' in call && !isObject(call.input))
      yield { path: call.path, message: 'the arguments are no JSON object' };
  }
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
