// Agents module of `suspects.faults.test.ts`. The first message of a turn names its tool. Each run of a tool is a line in a file:
// conversation, tool, pid, and whether the process is the one of a suspect.
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { type Agent, defineTool, type Tool } from '../../src/domain/agent.ts';
import type { ModelRequest } from '../../src/domain/model.ts';
import { type ScriptedAnswer, scriptedModel } from '../../src/providers/scripted.ts';

const { RUNS_FILE = '', RELEASE_FILE = '', BROKEN_IN_CHILD } = process.env;
const STEP_MS = 300;
/** Time in which other tools begin, too. */
const CRASH_MS = 400;
const isChild = process.send !== undefined;

if (isChild && BROKEN_IN_CHILD === 'throws') throw new Error('this module cannot be loaded here');
if (isChild && BROKEN_IN_CHILD === 'exits') process.exit(0);
if (isChild && BROKEN_IN_CHILD === 'hides') process.on('SIGTERM', () => process.exit(0));

function countRuns(conversation: string, tool: string): number {
  appendFileSync(RUNS_FILE, `${conversation} ${tool} ${process.pid} ${isChild ? 'child' : 'worker'}\n`);
  return readFileSync(RUNS_FILE, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith(`${conversation} ${tool} `)).length;
}

type Run = (runs: number) => Promise<string> | string;

function blockForEver(): never {
  for (;;) Math.random();
}

async function dieInWorker(live: Run, runs: number): Promise<string> {
  if (isChild) return await live(runs);
  await sleep(CRASH_MS);
  return process.exit(1);
}

async function untilReleased(): Promise<string> {
  while (!existsSync(RELEASE_FILE)) await sleep(20);
  return 'released';
}

const RUNS: Readonly<Record<string, Run>> = {
  wait: () => sleep(STEP_MS, 'waited'),
  exit: () => sleep(CRASH_MS).then(() => process.exit(0)),
  abort: () => sleep(CRASH_MS).then(() => process.abort()),
  throw: () => {
    setTimeout(() => {
      throw new Error('nobody catches this');
    }, CRASH_MS);
    return untilReleased();
  },
  memory: async () => {
    await sleep(CRASH_MS);
    const all: unknown[] = [];
    for (;;) all.push(Array.from({ length: 10_000 }, (_, index) => ({ index })));
  },
  block: (runs) => dieInWorker(blockForEver, runs),
  hold: (runs) => dieInWorker(untilReleased, runs),
  unlucky: (runs) => (runs > 2 ? 'survived' : sleep(CRASH_MS).then(() => process.exit(1))),
};

const tools: Tool[] = Object.entries(RUNS).map(([name, run]) =>
  defineTool({
    name,
    description: '',
    input: z.object({}),
    retry: 'safe',
    run: async (_, { conversation }) => await run(countRuns(conversation, name)),
  }),
);

/** Calls the tools that the last user message names, one after the other. */
async function decide({ messages }: ModelRequest): Promise<ScriptedAnswer> {
  await sleep(STEP_MS);
  const at = messages.findLastIndex(({ role }) => role === 'user');
  const names = String(messages[at]?.content).split(' ');
  const name = names[messages.slice(at).filter(({ role }) => role === 'tool').length];
  return name === undefined ? { content: 'done' } : { toolCalls: [{ name, arguments: {} }] };
}

export const agents: Agent[] = [{ name: 'guide', system: '', model: scriptedModel({ decide }), tools, policy: {} }];
