import { z } from 'zod';
import { RECALL } from '../compaction/recall/message-lines.ts';
import type { Agent, Tool } from '../domain/agent.ts';
import { TurnfoldError } from '../domain/errors.ts';
import type { ToolDescription } from '../domain/model.ts';
import { describeThrown } from '../domain/thrown.ts';
import { OPENAI_MAX_TOOLS } from '../wire/tools.ts';

/** Every supported provider accepts tool names of this form. */
const LEGAL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** Most providers refuse a whole request if the schema of one of its tools has such a keyword at its top level. */
const NOT_AT_THE_TOP = ['oneOf', 'anyOf', 'allOf', 'not', 'enum'];

/**
 * Checks the names and the number of an agent's tools. turnfold sends a tool's name unchanged, because the model's
 * answers call the tool by that name.
 * @throws invalid_config for an illegal or duplicate name, and for more tools than the model's provider accepts
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
  const { id, toolRefusal, abilities } = model.profile;
  const refusal = abilities?.tools === false ? `${id} calls no tools. Use another model` : toolRefusal;
  if (count > 0 && refusal !== undefined) {
    const field = `agents.${agent}.model`;
    throw new TurnfoldError('invalid_config', `${field}: ${refusal}`, { field });
  }
  const isOpenai = model.profile.format?.startsWith('openai') === true;
  if (!isOpenai || count <= OPENAI_MAX_TOOLS) return;
  const field = `agents.${agent}.tools`;
  const most = `${model.profile.id} accepts at most ${OPENAI_MAX_TOOLS}`;
  throw new TurnfoldError('invalid_config', `${field}: the agent has ${count} tools, but ${most}`, { field });
}

function findNameFault(name: string, names: ReadonlySet<string>, hasRecall: boolean): string | undefined {
  if (hasRecall && name === RECALL)
    return `the built-in recall tool already has the name "${RECALL}". Rename this tool`;
  if (names.has(name)) return 'another tool of this agent has the same name. Rename one of them';
  return LEGAL_NAME.test(name) ? undefined : "a tool's name must match [a-zA-Z0-9_-]{1,64}";
}

/**
 * Converts an agent's tools, with their input schemas as JSON Schema, to the descriptions that a model gets.
 * @throws invalid_config if the JSON Schema of a tool's input is not that of one object, which providers require
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

/**
 * Converts the schema of an agent's final answers to JSON Schema.
 * @throws invalid_config if the schema is not that of one object, or has no JSON form
 */
export function describeAnswer({ name, answer }: Agent): ToolDescription['parameters'] | undefined {
  if (answer === undefined) return undefined;
  const field = `agents.${name}.answer`;
  const schema = describeInput(answer, field);
  checkParameters(schema, field);
  return schema;
}

function describeInput(input: z.ZodType, field: string): ToolDescription['parameters'] {
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
  const fault = `the schema must be an object schema, but its top level is \`${found}\`. Wrap it: z.object({ value: … })`;
  throw new TurnfoldError('invalid_config', `${field}: ${fault}`, { field });
}
