import { writeFile } from 'node:fs/promises';
import type { SummarizerChain } from '../../evaluation/evaluated-passes.ts';
import {
  createOfflineSummarizers,
  type EvaluatedAgent,
  suggestUsableTokens,
  weighConversation,
} from '../../evaluation/offline-agent.ts';
import { RememberedCounts } from '../../evaluation/remembered-counts.ts';
import { Replay, type Replayed } from '../../evaluation/replay.ts';
import { eachConversation, type FileOptions } from '../conversation-file.ts';
import { checkWritable } from '../files.ts';
import { type Output, terminal, writeJson } from '../output.ts';
import { type PolicySource, readTrialPolicy } from '../policy-file.ts';
import { prepareTrial } from '../prepare-trial.ts';
import { reportReplay } from '../reports/file-reports.ts';
import type { CommandContext } from '../run-command.ts';
import { openProgress, type Progress } from './replay/progress.ts';
import { describePolicy, type ReplayedConversation } from './replay/summary.ts';

interface ReplayOptions extends FileOptions {
  readonly policy?: string;
  readonly against?: string;
  readonly window?: number;
  readonly model?: string;
  readonly html?: string;
}

interface Trial {
  readonly name: string;
  readonly prepared: EvaluatedAgent;
  readonly replayed: ReplayedConversation[];
}

/** Compacts as workers would, under one policy, or under two to compare. Calls no model. */
export async function replayFile({ output }: CommandContext, path: string, options: ReplayOptions): Promise<number> {
  const { json, html } = options;
  if (html !== undefined) await checkWritable(html);
  const counts = new RememberedCounts();
  const [trial, against] = await prepareTrials(options, output, counts);
  const trials = [trial, ...(against === undefined ? [] : [against])];
  const summarizers = await createOfflineSummarizers(counts);
  // oxlint-disable-next-line no-restricted-properties -- a bar of figures, which moves the cursor itself
  const progress = await openProgress(path, process.stderr);
  const { columns, isTTY } = terminal;
  const onRefusal = (error: unknown): unknown => {
    progress.clear();
    return error;
  };
  const exitCode = await eachConversation(
    { path, output, options, onRefusal },
    async ({ id, messages: given, notes }, text) => {
      progress.advance(Buffer.byteLength(text), 0);
      const weighed = await weighConversation(given, trial.prepared);
      const [own, other] = await replayAll(weighed, trials, { summarizers, progress });
      // If the progress bar were not cleared, the JSON would appear on its line.
      if (json && isTTY) progress.clear();
      if (json)
        writeJson(output, {
          id,
          ...own?.figures,
          ...(other && { against: other.figures }),
          ...(notes.length > 0 && { notes }),
        });
      if (!json || html !== undefined)
        trials.forEach(({ replayed }, index) => replayed.push({ id, ...([own, other][index] as Replayed) }));
    },
  );
  progress.clear();
  const tried = trials.map(({ name, prepared, replayed }) => ({ name, replayed, limits: prepared.limits }));
  if (!json) for (const policy of tried) for (const text of describePolicy(policy, columns)) output.line(text);
  if (html !== undefined) await writeFile(html, reportReplay(tried));
  return exitCode;
}

/** Both policies get the same window, because a policy with a larger window would send more. */
async function prepareTrials(
  { policy, against, window, model }: ReplayOptions,
  output: Output,
  counts: RememberedCounts,
): Promise<[Trial, Trial?]> {
  const own = await readTrialPolicy(policy, output);
  const other = against === undefined ? undefined : await readTrialPolicy(against, output);
  const suggested = Math.max(...[own, ...(other ? [other] : [])].map((source) => suggestUsableTokens(source.policy)));
  const usableTokens = window ?? (model === undefined ? suggested : undefined);
  const size = { ...(usableTokens === undefined ? {} : { usableTokens }), ...(model === undefined ? {} : { model }) };
  const windowOption = window !== undefined ? '--window' : model !== undefined ? '--model' : undefined;
  const prepare = async (path: string | undefined, source: PolicySource): Promise<Trial> => ({
    name: path ?? 'default policy',
    prepared: await prepareTrial({ ...source, windowOption, counts }, size),
    replayed: [],
  });
  const trial = await prepare(policy, own);
  return other === undefined ? [trial] : [trial, await prepare(against, other)];
}

async function replayAll(
  weighed: Awaited<ReturnType<typeof weighConversation>>,
  trials: readonly Trial[],
  { summarizers, progress }: { readonly summarizers: SummarizerChain; readonly progress: Progress },
): Promise<Replayed[]> {
  const results: Replayed[] = [];
  for (const { prepared } of trials) {
    const replay = new Replay(weighed, prepared, summarizers);
    for (const message of weighed) {
      await replay.add(message);
      progress.advance(0, 1);
    }
    results.push(await replay.end());
  }
  return results;
}
