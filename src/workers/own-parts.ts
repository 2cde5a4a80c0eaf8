import type { Agent, Tool } from '../domain/agent.ts';
import { schemaOfJson } from '../domain/json-schema.ts';
import type { ModelProfile } from '../domain/model.ts';
import type { TurnOwn } from '../domain/turn-own.ts';
import { OPENAI_MAX_TOOLS } from '../wire/tools.ts';

/** A part of a turn that its agent does not take. `field` is its path in the input of `enqueueTurn`. */
export interface RefusedPart {
  readonly field: string;
  readonly why: string;
}

/** @param hasParts true if the message of the turn has images or files */
export function findRefusedPart(
  agent: Agent,
  own: TurnOwn,
  { hasParts, hasRecall }: { readonly hasParts: boolean; readonly hasRecall: boolean },
): RefusedPart | undefined {
  const { accepts = {}, name } = agent;
  const { tools = [], instructions, answer, toolChoice } = own;
  const brings = { tools: tools.length > 0, instructions: instructions !== undefined, answer, parts: hasParts };
  for (const field of ['tools', 'instructions', 'answer', 'parts'] as const) {
    const isBrought = brings[field] !== undefined && brings[field] !== false;
    if (isBrought && accepts[field] === false)
      return { field, why: `the agent ${name} accepts no ${field} of callers` };
  }
  const taken = new Set([...agent.tools.map((tool) => tool.name), ...(hasRecall ? ['recall'] : [])]);
  const isTaken = ({ name: brought }: { readonly name: string }): boolean => {
    return taken.has(brought) && !isAnsweredByCaller(agent, brought);
  };
  const at = tools.findIndex(isTaken);
  if (at >= 0) {
    const why = `the agent ${name} has a tool "${tools[at]?.name}". Rename the tool of the turn`;
    return { field: `tools[${at}].name`, why };
  }
  return findModelRefusal(agent, {
    own: tools.length,
    all: new Set([...taken, ...tools.map((tool) => tool.name)]).size,
    toolChoice,
  });
}

/** A front-end also brings its tools that the agent declares without `run`. The declaration of the agent counts. */
function isAnsweredByCaller({ tools }: Agent, name: string): boolean {
  return tools.some((tool) => tool.name === name && tool.run === undefined);
}

interface ToolUse extends Pick<TurnOwn, 'toolChoice'> {
  readonly own: number;
  readonly all: number;
}

/** Providers refuse such requests, but their errors would not name the field of the turn. */
function findModelRefusal({ model }: Agent, { own, all, toolChoice }: ToolUse): RefusedPart | undefined {
  const { profile } = model;
  const why = own === 0 ? undefined : refuseTools(profile, all);
  if (why !== undefined) return { field: 'tools', why };
  if (toolChoice !== 'required') return undefined;
  if (all === 0) return { field: 'toolChoice', why: 'required needs a tool, but agent and turn have none' };
  if (profile.abilities?.forcedTools !== false) return undefined;
  return { field: 'toolChoice', why: `${profile.id} refuses a forced tool call. Use auto or none` };
}

function refuseTools({ id, abilities, toolRefusal, format }: ModelProfile, all: number): string | undefined {
  const refusal = abilities?.tools === false ? `${id} calls no tools` : toolRefusal;
  if (refusal !== undefined) return `the model of the agent takes none: ${refusal}`;
  if (format?.startsWith('openai') !== true || all <= OPENAI_MAX_TOOLS) return undefined;
  return `with those of the agent, the turn has ${all} tools, but ${id} accepts at most ${OPENAI_MAX_TOOLS}`;
}

/** The agent as it answers this turn. Its own tools have no `run`, so the turn waits for the results of its caller. */
export function joinOwn(agent: Agent, { tools = [], answer }: TurnOwn): Agent {
  const brought = tools
    .filter(({ name }) => !isAnsweredByCaller(agent, name))
    .map(({ name, description = '', parameters }): Tool => ({ name, description, input: schemaOfJson(parameters) }));
  const loadContent = agent.loadContent?.bind(agent);
  return {
    ...agent,
    tools: [...agent.tools, ...brought],
    ...(answer && { answer: schemaOfJson(answer.schema) }),
    ...(loadContent && { loadContent }),
  };
}
