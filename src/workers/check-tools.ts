import type { Agent } from '../domain/agent.ts';
import { TurnfoldError } from '../domain/errors.ts';
import type { ToolDescription } from '../domain/model.ts';
import { RECALL } from '../domain/recall.ts';
import { OPENAI_MAX_TOOLS } from '../wire/sent-tools.ts';

/** What every provider takes as a tool's name. */
const LEGAL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** What no provider takes at the top of a tool's schema: most would refuse every request of the agent. */
const NOT_AT_THE_TOP = ['oneOf', 'anyOf', 'allOf', 'not', 'enum'];

/**
 * An answer has to name the tool as it is registered, so that no name can be mended when it is sent.
 * @throws invalid_config where a tool has a name that no provider takes, or another's; where there are more than the model's
 * provider takes
 */
export function checkTools({ name: agent, tools, recall, model }: Agent): void {
  const names = new Set<string>();
  for (const [index, { name }] of tools.entries()) {
    const field = `agents.${agent}.tools[${index}].name`;
    const isBuiltIn = recall === true && name === RECALL;
    const isTwin = names.has(name);
    if (isBuiltIn || isTwin || !LEGAL_NAME.test(name)) {
      const taken = isBuiltIn ? 'the built-in tool has this name' : 'two tools have this name';
      const fault = isBuiltIn || isTwin ? taken : "a tool's name must match [a-zA-Z0-9_-]{1,64}";
      throw new TurnfoldError('invalid_config', `${field}: ${fault}`, { field });
    }
    names.add(name);
  }
  checkCount(agent, tools.length + (recall === true ? 1 : 0), model);
}

/** @throws invalid_config */
function checkCount(agent: string, count: number, model: Agent['model']): void {
  const isOpenai = model.profile.format?.startsWith('openai') === true;
  if (!isOpenai || count < OPENAI_MAX_TOOLS) return;
  const field = `agents.${agent}.tools`;
  const most = `${model.profile.id} takes ${OPENAI_MAX_TOOLS}, one of them for calls of tools that are gone`;
  throw new TurnfoldError('invalid_config', `${field}: ${count} tools, ${most}`, { field });
}

/**
 * @param parameters of a tool, as JSON Schema
 * @throws invalid_config where they are not those of one object: what they are instead may stand in a field of it
 */
export function checkParameters(parameters: ToolDescription['parameters'], field: string): void {
  const { type = 'object' } = parameters;
  const found = NOT_AT_THE_TOP.find((key) => key in parameters) ?? (type === 'object' ? undefined : String(type));
  if (found === undefined) return;
  const fault = `providers take an object, not \`${found}\` at the top: put it into a field of one`;
  throw new TurnfoldError('invalid_config', `${field}: ${fault}`, { field });
}
