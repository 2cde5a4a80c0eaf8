import { fieldError } from '../../domain/errors.ts';
import type { PolicyInput } from '../../domain/policy.ts';
import { type CompactedConversation, compactConversation } from '../../evaluation/compact.ts';
import { weighConversation } from '../../evaluation/offline-agent.ts';
import { eachConversation, type FileOptions } from '../conversation-file.ts';
import { writeResult } from '../output.ts';
import { readPolicyFile } from '../policy-file.ts';
import { createTrialSummarizers, prepareTrial } from '../prepare-trial.ts';
import type { CommandContext } from '../run-command.ts';

interface CompactOptions extends FileOptions {
  readonly policy?: string;
  readonly summarizer?: string;
  /** Window of the model, in tokens of a request. Absent: the window is unknown. */
  readonly window?: number;
}

export async function compactFile({ output }: CommandContext, path: string, options: CompactOptions): Promise<number> {
  const { policy: policyPath, summarizer, window, json } = options;
  const source = await readPolicyFile(policyPath, output);
  const policy = overrideSummarizer(source.policy, summarizer);
  const limits = window === undefined ? {} : { usableTokens: window };
  const prepared = await prepareTrial({ ...source, policy, windowOption: '--window' }, limits);
  const summarizers = await createTrialSummarizers(prepared, source);
  return await eachConversation({ path, output, options }, async ({ id, messages: given, notes }) => {
    const weighed = await weighConversation(given, prepared);
    const { messages, report } = await compactConversation(weighed, prepared, summarizers);
    writeResult(
      output,
      json,
      { id, messages, report, ...(notes.length > 0 && { notes }) },
      describeReport(id, { messages, report }),
    );
  });
}

function overrideSummarizer(policy: PolicyInput, summarizer: string | undefined): PolicyInput {
  if (summarizer === undefined) return policy;
  if (summarizer === 'structural') return { ...policy, summarizer };
  const field = '--summarizer';
  throw fieldError('invalid_input', field, 'expected structural. To use models, name them in the policy file');
}

const KIND_WIDTH = 'summarize'.length;

function describeReport(id: string, { report, messages }: Pick<CompactedConversation, 'report' | 'messages'>): string {
  const { kind, reasons, tokensBefore, tokensAfter, archived, sequences, evicted, clipped, floorRelaxed } = report;
  const sizes = `${tokensBefore} → ${tokensAfter} tokens, ${messages.length} messages`;
  const counts = { archived, 'sequences summarized': sequences, evicted, clipped };
  const what = Object.entries(counts).flatMap(([name, count]) => (count === 0 ? [] : [`${count} ${name}`]));
  if (floorRelaxed) what.push('floor relaxed');
  return `${kind.padEnd(KIND_WIDTH)}  ${id}  (${reasons.join(', ')}; ${sizes})  ${what.join(', ')}`.trimEnd();
}
