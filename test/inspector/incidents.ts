import type { OutlineAnswer, OutlineEntryAnswer } from '../../src/api/contract/inspection.ts';
import type { Agent } from '../../src/domain/agent.ts';
import type { Message } from '../../src/domain/message.ts';
import type { PolicyInput } from '../../src/domain/policy.ts';
import { compact, createTalker } from '../client/fixture.ts';
import { type HttpFixture, openHttpFixture } from '../http/fixture.ts';
import { readRecording, readText } from './recorded-log.ts';

/** How each agent compacts. A manual compaction takes the budget as its goal. */
const POLICIES: Readonly<Record<string, PolicyInput>> = {
  summarizing: { maxTokens: 4_000, retentionWindow: 2 },
  collapsing: { maxTokens: 16_000, retentionWindow: 4, scope: 'prefix' },
  evicting: { maxTokens: 3_000, retentionWindow: 2, minSequenceMessages: 10_000 },
  masking: { maxTokens: 20_000, retentionWindow: 2, maskToolResults: true },
};

export interface Incident {
  readonly question: string;
  readonly source: string;
  readonly agent: string;
  readonly pattern: RegExp;
  readonly answer: 'forgotten' | 'known';
}

type Question = readonly [question: string, source: string, agent: string, pattern: RegExp];

const FORGOTTEN: readonly Question[] = [
  ['Why did it forget which item was to be exchanged?', 'tau2_retail', 'summarizing', /\b\d{10}\b/g],
  ['Why did it forget the price of the item?', 'tau2_retail', 'summarizing', /\b\d+\.\d{2}\b/g],
  ['Why did it forget the products that it had looked up?', 'tau2_retail', 'evicting', /\b\d{10}\b/g],
  ['Why did it forget the e-mail address?', 'tau2_retail', 'masking', /\b\w+\.\w+@\w+\.\w+\b/g],
  ['Why did it forget the reservation?', 'tau_airline', 'evicting', /\b(?=\w*\d)[A-Z0-9]{6}\b/g],
  ['Why did it forget the number of the flight?', 'tau_airline', 'summarizing', /\bHAT\d{3}\b/g],
  ['Why did it forget the day of the flight?', 'tau_airline', 'summarizing', /\b2024-05-\d{2}\b/g],
  ['Why did it forget the price of the flight?', 'tau_airline', 'summarizing', /\b\d{3}\b/g],
  ['Why did it forget the file that it had read?', 'coding_pi', 'collapsing', /\bpackages\/[\w./-]+\.ts\b/g],
  ['Why did it forget the name of the function?', 'coding_pi', 'collapsing', /\b[a-z]+(?:[A-Z][a-z]+){2,}\b/g],
  ['Why did it forget the commit?', 'coding_pi', 'collapsing', /\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7}\b/g],
  ['Why did it forget the class that it had to change?', 'coding_miniswe', 'evicting', /\b[A-Z][a-z]+[A-Z][a-z]+\b/g],
  ['Why did it forget the test that failed?', 'coding_miniswe', 'evicting', /\btest_\w+/g],
  ['Why did it forget the constant?', 'coding_miniswe', 'evicting', /\b[A-Z]+_[A-Z_]+\b/g],
  ['Why did it forget the module?', 'coding_miniswe', 'masking', /\b\w+\.py\b/g],
  ['Why did it forget the variable of the environment?', 'chat_aider', 'collapsing', /\b[A-Z]+_[A-Z_]+\b/g],
  ['Why did it forget the file of the program?', 'chat_aider', 'collapsing', /\b[\w-]+\.(?:py|md|js|txt|html)\b/g],
];

const KNOWN: readonly Question[] = [
  ['Why did it forget the order id?', 'tau2_retail', 'summarizing', /#W\d{7}/g],
  ['Does it still know who travels?', 'tau_airline', 'summarizing', /\b[a-z]+_[a-z]+_\d{4}\b/g],
  ['Does it still know the file that it edited?', 'coding_pi', 'collapsing', /\b[\w-]+\.tsx?\b/g],
];

export const INCIDENTS: readonly Incident[] = [
  ...FORGOTTEN.map(([question, source, agent, pattern]) => ({
    question,
    source,
    agent,
    pattern,
    answer: 'forgotten' as const,
  })),
  ...KNOWN.map(([question, source, agent, pattern]) => ({
    question,
    source,
    agent,
    pattern,
    answer: 'known' as const,
  })),
];

export interface Compacted {
  readonly conversation: string;
  readonly log: readonly Message[];
  /** Everything that the model still reads. */
  readonly context: string;
  readonly outline: readonly OutlineEntryAnswer[];
}

function createAgent(name: string): Agent {
  return { ...createTalker(), name, ...(POLICIES[name] && { policy: POLICIES[name] }) };
}

export interface IncidentScene {
  readonly http: HttpFixture;
  /** The conversation of an incident, compacted once for all questions about it. */
  readonly compacted: (incident: Incident) => Promise<Compacted>;
  readonly close: () => Promise<void>;
}

export async function openIncidents(): Promise<IncidentScene> {
  const http = await openHttpFixture();
  await http.startWorkers(Object.keys(POLICIES).map(createAgent));
  const ready = new Map<string, Promise<Compacted>>();
  const compacted = (incident: Incident): Promise<Compacted> => {
    const key = `${incident.source}-${incident.agent}`;
    const found = ready.get(key) ?? prepare(http, incident);
    ready.set(key, found);
    return found;
  };
  return { http, compacted, close: () => http.close() };
}

/** Imports a recorded conversation and compacts it. */
async function prepare(http: HttpFixture, { source, agent }: Incident): Promise<Compacted> {
  const conversation = `${source}-${agent}`;
  const log = readRecording(source);
  await http.call('POST', `/v1/conversations/${conversation}/import`, { body: { agent, messages: log } });
  await compact(http, conversation);
  const { items } = await http.client.context(conversation);
  const context = items.map(({ message }) => readText(message)).join('\n');
  return { conversation, log, context, outline: await readOutline(http, conversation) };
}

async function readOutline(http: HttpFixture, conversation: string): Promise<OutlineEntryAnswer[]> {
  const entries: OutlineEntryAnswer[] = [];
  for (let after: number | undefined = 0; after !== undefined; ) {
    const path: string = `/v1/conversations/${conversation}/outline?limit=2000&after=${after}`;
    const page: { readonly body: OutlineAnswer } = await http.call('GET', path);
    entries.push(...page.body.entries);
    after = page.body.next;
  }
  return entries;
}

/** Checks that a text holds an identifier alone, not as a part of a longer one. */
export function holds(text: string, identifier: string): boolean {
  return new RegExp(`(?<!\\w)${RegExp.escape(identifier)}(?!\\w)`).test(text);
}

/**
 * Finds an identifier in a message that left the context. For `known`, the context must still hold the identifier.
 * @returns undefined if the recording has none
 */
export function findSubject({ log, context, outline }: Compacted, { pattern, answer }: Incident): string | undefined {
  const gone = log.filter(({ role }, index) => role !== 'system' && outline[index]?.state !== 'live');
  const candidates = new Set(gone.flatMap((message) => readText(message).match(pattern) ?? []));
  return [...candidates].find((one) => holds(context, one) === (answer === 'known'));
}
