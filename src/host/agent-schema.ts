import { z } from 'zod';
import { type Agent, ON_CANCEL_VALUES } from '../domain/agent.ts';
import { boundedList } from '../domain/bounded-schemas.ts';
import { fieldError, type TurnfoldError } from '../domain/errors.ts';
import { gateSettingsSchema } from '../domain/gate.ts';
import { idSchema } from '../domain/ids.ts';
import { ENCODINGS } from '../domain/model.ts';
import { safeParse } from '../domain/parse.ts';
import type { PolicyInput } from '../domain/policy.ts';
import { examinePolicy } from '../domain/policy-input.ts';
import { functionSchema } from '../domain/process-options.ts';
import { clipText, readSafely } from '../domain/thrown.ts';

/** The longest timer of Node, 24.8 days. A longer timer would fire at once. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

/** Real applications have fewer agents. A list that claims to have a billion items would block the validation. */
const MAX_AGENTS = 10_000;
const MAX_TOOLS = 10_000;
const MAX_FALLBACKS = 1_000;

const isSchema = (value: unknown): boolean => typeof value === 'object' && value !== null && '_zod' in value;
const positive = z.number().gt(0);
const count = z.number().int().min(1);

/** Checks a model without copying it, because the copy of a class instance would lose its methods. */
export const modelSchema = z.looseObject({
  profile: z.looseObject({
    id: z.string().min(1),
    encoding: z.enum(ENCODINGS),
    windowTokens: positive,
    outputCapTokens: positive,
    upperBoundFactor: positive,
  }),
  generate: functionSchema,
  compact: functionSchema.optional(),
  gate: gateSettingsSchema.optional(),
  fallbacks: boundedList(
    z.lazy((): z.ZodType => modelSchema),
    MAX_FALLBACKS,
  ).optional(),
});

const timeoutError = `expected ms, more than 0 and at most ${LONGEST_TIMEOUT_MS}`;
const timeoutSchema = z
  .number({ error: timeoutError })
  .gt(0, { error: timeoutError })
  .max(LONGEST_TIMEOUT_MS, { error: timeoutError });

/** Ten years in ms. */
const LONGEST_WAIT_MS = 315_360_000_000;
const waitError = `expected whole ms, at least 1 and at most ${LONGEST_WAIT_MS}`;

const toolSchema = z
  .looseObject({
    name: z.string(),
    description: z.string(),
    input: z.custom<unknown>(isSchema, 'expected a schema object of zod 4, such as z.object({…})'),
    retry: z.enum(['safe', 'never']).optional(),
    needsApproval: z.boolean().optional(),
    timeoutMs: timeoutSchema.optional(),
    answerWithinMs: z
      .number({ error: waitError })
      .int({ error: waitError })
      .min(1, { error: waitError })
      .max(LONGEST_WAIT_MS, { error: waitError })
      .optional(),
    run: functionSchema.optional(),
  })
  .refine(
    ({ answerWithinMs, run, needsApproval }) => answerWithinMs === undefined || run === undefined || needsApproval,
    {
      path: ['answerWithinMs'],
      message: 'a timeout for approvals needs a tool that waits for approvals. Remove this field, or set needsApproval',
    },
  );

const agentSchema = z.looseObject({
  name: z.string(),
  system: z.union([z.string(), functionSchema], 'expected a text, or a function that returns a text'),
  model: modelSchema,
  tools: boundedList(toolSchema, MAX_TOOLS),
  policy: z.looseObject({}),
  maxSteps: count.optional(),
  turnTimeoutMs: timeoutSchema.optional(),
  toolResultMaxTokens: count.optional(),
  recall: z.boolean().optional(),
  keepReasoning: z.boolean().optional(),
  onCancel: z.enum(ON_CANCEL_VALUES).optional(),
  safetyIdentifier: z
    .union(
      [z.enum(['off', 'tenant', 'conversation']), z.strictObject({ context: z.string().min(1) })],
      "expected off, tenant, conversation, or { context: 'the name of a field' }",
    )
    .optional(),
  loadContent: functionSchema.optional(),
  answer: z.custom<unknown>(isSchema, 'expected a schema object of zod 4, such as z.object({…})').optional(),
  accepts: z
    .strictObject({
      tools: z.boolean().optional(),
      instructions: z.boolean().optional(),
      answer: z.boolean().optional(),
      parts: z.boolean().optional(),
    })
    .optional(),
});

const NAME_CHARACTERS = 200;

export interface ReadAgents {
  readonly agents: readonly Agent[];
  readonly warnings: readonly string[];
  /** Problems of the agents that could not be read. Each names the path of its field, such as `agents[0].model`. */
  readonly problems: readonly TurnfoldError[];
}

/** Checks agents, because a module may be untyped JavaScript. A mistake would appear only when a turn reaches it. */
export function readAgents(values: unknown): ReadAgents {
  if (!Array.isArray(values) || values.length === 0) {
    const why = Array.isArray(values)
      ? 'expected at least one agent in the list'
      : 'expected a list of agents, such as [defineAgent({…})]';
    return { agents: [], warnings: [], problems: [fieldError('invalid_config', 'agents', why)] };
  }
  if (values.length > MAX_AGENTS) {
    return {
      agents: [],
      warnings: [],
      problems: [fieldError('invalid_config', 'agents', `expected at most ${MAX_AGENTS} agents`)],
    };
  }
  const names = new Set<unknown>();
  const read = values.map((value: unknown, index): ReadAgents => {
    const name = nameOf(value);
    const at = name === undefined ? `agents[${index}]` : `agents.${clipText(name, NAME_CHARACTERS)}`;
    const problems = name === undefined ? [] : checkName(name, names);
    if (name !== undefined) names.add(name);
    const one = readAgent(value, at);
    return { ...one, problems: [...problems, ...one.problems] };
  });
  return {
    agents: read.flatMap(({ agents, problems }) => (problems.length > 0 ? [] : agents)),
    warnings: read.flatMap(({ warnings }) => warnings),
    problems: read.flatMap(({ problems }) => problems),
  };
}

function readAgent(value: unknown, at: string): ReadAgents {
  const read = safeParse(agentSchema, value, { at, code: 'invalid_config' });
  if (!read.success) return { agents: [], warnings: [], problems: read.problems };
  const agent = value as Agent;
  const { policy, warnings, problems } = examinePolicy(agent.policy, `${at}.policy`);
  const named = warnings.map((warning) => `${at}.policy: ${warning}`);
  return { agents: [withPolicy(agent, policy)], warnings: named, problems };
}

/** Copies an agent field by field, because spreading a class instance would lose its inherited methods. */
function withPolicy(agent: Agent, policy: PolicyInput): Agent {
  const { name, system, model, tools, maxSteps, turnTimeoutMs, onCancel, toolResultMaxTokens, recall } = agent;
  const { safetyIdentifier, answer, accepts, keepReasoning } = agent;
  const loadContent = agent.loadContent?.bind(agent);
  return {
    name,
    system,
    model,
    tools,
    policy,
    ...(maxSteps !== undefined && { maxSteps }),
    ...(turnTimeoutMs !== undefined && { turnTimeoutMs }),
    ...(onCancel !== undefined && { onCancel }),
    ...(toolResultMaxTokens !== undefined && { toolResultMaxTokens }),
    ...(recall !== undefined && { recall }),
    ...(safetyIdentifier !== undefined && { safetyIdentifier }),
    ...(answer !== undefined && { answer }),
    ...(accepts !== undefined && { accepts }),
    ...(keepReasoning !== undefined && { keepReasoning }),
    ...(loadContent !== undefined && { loadContent }),
  };
}

function nameOf(value: unknown): string | undefined {
  const name = readSafely(value, 'name');
  return typeof name === 'string' ? name : undefined;
}

function checkName(name: string, taken: ReadonlySet<unknown>): TurnfoldError[] {
  const field = `agents.${clipText(name, NAME_CHARACTERS)}`;
  if (!idSchema.safeParse(name).success)
    return [fieldError('invalid_config', field, "an agent's name must match [A-Za-z0-9_.-]{1,128}")];
  return taken.has(name) ? [fieldError('invalid_config', field, 'two agents have this name. Rename one of them')] : [];
}
