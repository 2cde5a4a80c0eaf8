import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ChaosOptions, type ChaosReport, runChaos, USUAL } from './run.ts';

interface Edit {
  readonly file: string;
  readonly find: string;
  readonly put: string;
}

/** A guarantee taken out of a copy of the code, a run that needs it, and by which rule that finds it out. */
export interface Mutation {
  readonly name: string;
  readonly edits: readonly Edit[];
  /** what is waited for, made shorter: with the guarantee and without it */
  readonly shortened?: readonly Edit[];
  readonly options: Partial<ChaosOptions>;
  readonly rule: string;
  /** how long what is stuck is waited for: absent, 10 s */
  readonly quietMs?: number;
}

const CALM = { ...USUAL.moods, faults: 0, refusals: 0 };
const UNHARMED = { kinds: [], pace: 1 } as const;
const FAN_OUT = 'src/queue/fan-out.ts';
const SUMMARIES = 'src/queue/fan-out.ts';

export const MUTATIONS: readonly Mutation[] = [
  {
    // Owner and head go with the epoch: an owner is one delivery's, so that each of the three alone would be made up for.
    name: 'epoch check removed',
    edits: [
      {
        file: 'src/store/lua/shared/fence.lua',
        find: 'if conversation.owner == owner and conversation.epoch == epoch and head_turn == turn then return nil end',
        put: "if redis.call('EXISTS', gone) == 0 then return nil end",
      },
    ],
    options: { cancels: 0.7, conversations: 75, moods: { ...CALM, clerkMs: 1_000 }, harm: UNHARMED },
    rule: 'every accepted turn is settled, once',
  },
  {
    // The pass reads the live version again before it settles: that alone leaves the comparison a window of milliseconds.
    name: 'version compare removed',
    edits: [
      {
        file: 'src/store/lua/commit-version.lua',
        find: "if live ~= expected then return { 'version_changed', tonumber(live) } end",
        put: '',
      },
      {
        file: 'src/workers/compaction/pass-actions.ts',
        find: 'const live = await ports.contexts.readContext(conversation);',
        put: 'const live = await ports.contexts.readContext(conversation, plan);',
      },
    ],
    options: {
      byHand: 1,
      turns: 60,
      conversations: 30,
      moods: { ...CALM, refusals: 1, clerkMs: 600, recorderMs: 3_000 },
      harm: UNHARMED,
    },
    rule: 'versions follow each other, and those of passes are smaller',
  },
  {
    name: 'sweeper off',
    edits: [{ file: 'src/runtime/start-workers.ts', find: '  sweeper.start();\n', put: '' }],
    options: { moods: CALM, harm: UNHARMED },
    rule: 'every accepted turn is settled, once',
  },
  {
    // A child that has failed is kept, and its parent waits for it: either of the two options would make up for the throw.
    name: 'child failures thrown',
    edits: [
      { file: SUMMARIES, find: 'if (!delivery.isLastAttempt) throw error;', put: 'throw error;' },
      {
        file: 'src/workers/summarization/summarize-sequence.ts',
        find: 'if (!delivery.isLastAttempt) throw error;',
        put: 'throw error;',
      },
      {
        file: 'src/workers/summarization/summarization-delivery.ts',
        find: 'if (!delivery.isLastAttempt) throw error;',
        put: 'throw error;',
      },
      { file: FAN_OUT, find: 'ignoreDependencyOnFailure: true,', put: '' },
      { file: FAN_OUT, find: 'removeOnFail: true,', put: '' },
    ],
    // After that a pass goes on in another job, and the one that waits for its children stays.
    shortened: [{ file: 'src/domain/pass.ts', find: 'parkMs: 60_000,', put: 'parkMs: 6_000,' }],
    options: { byHand: 1, turns: 40, moods: { ...CALM, isRecorderAway: true }, harm: UNHARMED },
    rule: 'no job is left',
    quietMs: 12_000,
  },
  {
    name: 'settled-first order swapped',
    edits: [
      {
        file: 'src/store/lua/settle-turn.lua',
        find: "if loss == 'fenced' and SETTLED[",
        put: "if loss then return { loss } end\nif loss == 'fenced' and SETTLED[",
      },
    ],
    options: {
      turns: 800,
      conversations: 60,
      moods: { ...CALM, clerkMs: 40 },
      harm: { kinds: ['lostReplies'], pace: 1 },
    },
    rule: 'who settled a turn is told so',
  },
];

/** @param isMutated false: the same run with the guarantee, which must find nothing */
export async function runMutation(mutation: Mutation, seed: number, isMutated = true): Promise<ChaosReport> {
  const { edits, shortened = [] } = mutation;
  const made = isMutated ? [...shortened, ...edits] : shortened;
  const root = made.length > 0 ? await makeMutant(made) : undefined;
  try {
    return await runChaos({
      ...USUAL,
      turns: 150,
      conversations: 20,
      workers: 2,
      minutes: 0.25,
      ...mutation.options,
      quietMs: isMutated ? (mutation.quietMs ?? 10_000) : USUAL.quietMs,
      seed,
      root,
    });
  } finally {
    if (root !== undefined) await rm(root, { recursive: true, force: true });
  }
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** A copy of what worker processes run, with the edits. @throws where the code no longer says what is edited, or says it twice */
async function makeMutant(edits: readonly Edit[]): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'turnfold-mutant-'));
  for (const path of ['src', 'package.json', 'test/chaos/worker-process.ts', 'test/chaos/agent.ts']) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await cp(join(ROOT, path), join(root, path), { recursive: true });
  }
  await symlink(join(ROOT, 'node_modules'), join(root, 'node_modules'));
  for (const { file, find, put } of edits) {
    const code = await readFile(join(root, file), 'utf8');
    if (code.split(find).length !== 2) throw new Error(`${file} no longer says once what is mutated: ${find}`);
    await writeFile(join(root, file), code.replace(find, put));
  }
  return root;
}
