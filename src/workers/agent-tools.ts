import { z } from 'zod';
import type { Agent, Tool } from '../domain/agent.ts';
import { TurnfoldError } from '../domain/errors.ts';
import type { ToolDescription } from '../domain/model.ts';
import { RECALL } from '../domain/recall.ts';
import { describeThrown } from '../domain/thrown.ts';
import { OPENAI_MAX_TOOLS } from '../wire/tools.ts';

/** Tool names that every provider takes. */
const LEGAL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** Keywords that most providers refuse at the top of a tool's schema, together with the whole request. */
const NOT_AT_THE_TOP = ['oneOf', 'anyOf', 'allOf', 'not', 'enum'];

/**
 * Checks names and number of an agent's tools. A name cannot be changed for a provider, since answers name the tool.
 * @throws invalid_config for an illegal or duplicate name, and for more tools than the model's provider takes
 */
export function checkTools({ name: agent, tools, recall, model }: Agent): void {
  const names = new Set<string>();
  for (const [index, { name }] of tools.entries()) {
    const fault = findNameFault(name, names, recall === true);
    if (fault !== undefined) {
      const field = `agents.${agent}.tools[${index}].name`;
      throw new TurnfoldError('invalid_config', `${field}: ${fault}`, { field });
    }
    names.add(name);
  }
  const count = tools.length + (recall === true ? 1 : 0);
  const isOpenai = model.profile.format?.startsWith('openai') === true;
  if (!isOpenai || count < OPENAI_MAX_TOOLS) return;
  const field = `agents.${agent}.tools`;
  const most = `${model.profile.id} takes ${OPENAI_MAX_TOOLS}, one of them for calls of tools that are gone`;
  throw new TurnfoldError('invalid_config', `${field}: ${count} tools, ${most}`, { field });
}

function findNameFault(name: string, names: ReadonlySet<string>, hasRecall: boolean): string | undefined {
  if (hasRecall && name === RECALL) return 'the built-in tool has this name';
  if (names.has(name)) return 'two tools have this name';
  return LEGAL_NAME.test(name) ? undefined : "a tool's name must match [a-zA-Z0-9_-]{1,64}";
}

/**
 * Describes tools to a model.
 * @throws invalid_config for an input that has no JSON Schema of one object, which providers require
 */
export function describeAgentTools(
  agent: string,
  tools: readonly Pick<Tool, 'name' | 'description' | 'input'>[],
): ToolDescription[] {
  return tools.map(({ name, description, input }, index) => {
    const field = `agents.${agent}.tools[${index}].input`;
    const parameters = describeInput(input, field);
    checkParameters(parameters, field);
    return { name, description, parameters };
  });
}

function describeInput(input: Tool['input'], field: string): ToolDescription['parameters'] {
  try {
    return z.toJSONSchema(input, { io: 'input' });
  } catch (cause) {
    const { message } = describeThrown(cause);
    throw new TurnfoldError('invalid_config', `${field}: ${message}`, { field, cause });
  }
}

function checkParameters(parameters: ToolDescription['parameters'], field: string): void {
  const { type = 'object' } = parameters;
  const found = NOT_AT_THE_TOP.find((key) => key in parameters) ?? (type === 'object' ? undefined : String(type));
  if (found === undefined) return;
  const fault = `providers take an object, not \`${found}\` at the top: put it into a field of one`;
  throw new TurnfoldError('invalid_config', `${field}: ${fault}`, { field });
}
