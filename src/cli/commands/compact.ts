import { TurnfoldError } from '../../domain/errors.ts';
import type { PolicyInput } from '../../domain/policy.ts';
import { type CompactedConversation, compactConversation } from '../../evaluation/compact.ts';
import { weighConversation } from '../../evaluation/offline-agent.ts';
import { openConversationLine } from '../../wire/conversation-line.ts';
import { readLines } from '../files.ts';
import { type Output, reportRefusal, writeJson } from '../output.ts';
import { readPolicyFile } from '../policy-file.ts';
import { createTrialSummarizers, prepareTrial } from '../prepare-trial.ts';

export interface CompactOptions {
  readonly policy?: string;
  readonly summarizer?: string;
  /** Most tokens of a request. Absent: no window is known. */
  readonly window?: number;
  readonly json?: boolean;
}

/**
 * Compacts each conversation of a file once, as a manual pass would. Prints a line of figures, or JSON with the messages to
 * send. Needs no Redis. Needs no model with the structural summarizer.
 * @returns the exit code: 1 if a conversation was refused
 */
export async function compactFile(path: string, options: CompactOptions, output: Output): Promise<number> {
  const { policy: policyPath, window } = options;
  const source = await readPolicyFile(policyPath, output);
  const policy = overrideSummarizer(source.policy, options.summarizer);
  const prepared = await prepareTrial(
    { ...source, policy, windowOption: '--window' },
    window === undefined ? {} : { usableTokens: window },
  );
  const summarizers = await createTrialSummarizers(prepared, source);
  let exitCode = 0;
  for await (const { number, line } of readLines(path)) {
    let id = `line-${number}`;
    try {
      const opened = openConversationLine(line, number);
      id = opened.id;
      const weighed = await weighConversation(opened.readMessages(), prepared);
      const compacted = await compactConversation(weighed, prepared, summarizers);
      if (options.json) writeJson(output, { id, ...compacted });
      else output.line(describeReport(id, compacted));
    } catch (error) {
      exitCode = reportRefusal(output, id, error, options.json);
    }
  }
  return exitCode;
}

/** @throws invalid_input for another than the one that needs no model */
function overrideSummarizer(policy: PolicyInput, summarizer: string | undefined): PolicyInput {
  if (summarizer === undefined) return policy;
  if (summarizer === 'structural') return { ...policy, summarizer };
  const field = '--summarizer';
  throw new TurnfoldError('invalid_input', `${field}: expected structural. Name models in the policy`, { field });
}

const KIND_WIDTH = 'summarize'.length;

function describeReport(id: string, { report, messages }: CompactedConversation): string {
  const { kind, reasons, tokensBefore, tokensAfter, archived, sequences, evicted, clipped, floorRelaxed } = report;
  const sizes = `${tokensBefore} → ${tokensAfter} tokens, ${messages.length} messages`;
  const what = [
    ...(archived === 0 ? [] : [`${archived} archived`]),
    ...(sequences === 0 ? [] : [`${sequences} sequences summarized`]),
    ...(evicted === 0 ? [] : [`${evicted} evicted`]),
    ...(clipped === 0 ? [] : [`${clipped} clipped`]),
    ...(floorRelaxed ? ['floor relaxed'] : []),
  ];
  return `${kind.padEnd(KIND_WIDTH)}  ${id}  (${reasons.join(', ')}; ${sizes})  ${what.join(', ')}`.trimEnd();
}
