import { z } from 'zod';
import { RECALL } from '../compaction/recall/message-lines.ts';
import type { Agent } from '../domain/agent.ts';
import { TurnfoldError } from '../domain/errors.ts';
import type { ToolDescription } from '../domain/model.ts';
import { type ProviderSchema, toProviderSchema } from '../domain/provider-schema.ts';
import { describeThrown } from '../domain/thrown.ts';
import { LEGAL_TOOL_NAME, NOT_AT_THE_TOP } from '../domain/turn-own.ts';
import { OPENAI_MAX_TOOLS } from '../wire/tools.ts';

/** Tools and answers of an agent, as its provider gets them. */
export interface DescribedAgent {
  readonly tools: readonly ToolDescription[];
  /** Schema of final answers, for a provider that forces its model to follow a schema. */
  readonly answerSchema?: ProviderSchema;
  /** Instruction that asks for the schema of the final answers, at the end of the system prompt. */
  readonly instruction?: string;
}

/** @param recall the built-in tool, if the agent has it */
export function describeAgent(
  agent: Agent,
  recall: Pick<Agent['tools'][number], 'name' | 'description' | 'input'> | undefined,
): DescribedAgent {
  const tools = [...agent.tools, ...(recall === undefined ? [] : [recall])].map(
    ({ name, description, input }, index) => {
      const parameters = describeObject(input, `agents.${agent.name}.tools[${index}].input`);
      return { name, description, parameters };
    },
  );
  return { tools, ...prepareAnswers(agent) };
}

/** Lets a model learn the schema of final answers by its provider's own means, or else by the system prompt. */
function prepareAnswers(agent: Agent): Pick<DescribedAgent, 'answerSchema' | 'instruction'> {
  if (agent.answer === undefined) return {};
  const schema = describeObject(agent.answer, `agents.${agent.name}.answer`);
  const answerSchema = toProviderSchema(schema);
  if (answerSchema !== undefined && agent.model.profile.abilities?.structured === true) return { answerSchema };
  const { $schema: _, ...shown } = schema;
  const instruction = `Your final answer must be one JSON object that matches this JSON Schema, and nothing else:\n${JSON.stringify(shown)}`;
  return { instruction, ...(answerSchema && { answerSchema }) };
}

/**
 * Checks names and number of the tools. Names are sent unchanged, because the model calls a tool by its name.
 * @throws invalid_config for an illegal or duplicate name, and for more tools than the provider accepts
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
  return LEGAL_TOOL_NAME.test(name) ? undefined : "a tool's name must match [a-zA-Z0-9_-]{1,64}";
}

/**
 * Describes the input of a tool, or the final answer of an agent, for a model.
 * @throws invalid_config if the schema has no JSON form, or does not describe one object, which providers require
 */
function describeObject(schema: z.ZodType, field: string): ToolDescription['parameters'] {
  const fail = (why: string, cause?: unknown): TurnfoldError =>
    new TurnfoldError('invalid_config', `${field}: ${why}`, { field, cause });
  let described: ToolDescription['parameters'];
  try {
    described = z.toJSONSchema(schema, { io: 'input' });
  } catch (cause) {
    throw fail(describeThrown(cause).message, cause);
  }
  const { type = 'object' } = described;
  const top = NOT_AT_THE_TOP.find((key) => key in described) ?? String(type);
  if (top === 'object') return described;
  throw fail(`the schema must be an object schema, but its top level is \`${top}\`. Wrap it: z.object({ value: … })`);
}
