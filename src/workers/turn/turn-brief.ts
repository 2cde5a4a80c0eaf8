import type { SystemFunction } from '../../domain/agent.ts';
import { isLost } from '../../domain/lease.ts';
import { MAX_MESSAGE_BYTES } from '../../domain/message.ts';
import { describeThrown } from '../../domain/thrown.ts';
import { readTurnContext } from '../../domain/turn-context.ts';
import { readTurnOwn, type TurnOwn } from '../../domain/turn-own.ts';
import { findRefusedPart } from '../own-parts.ts';
import { LostTurn } from './turn-guard.ts';
import { type FailedEnd, failTurn, leaveContext, type RunFacts, type RunningTurn } from './turn-states.ts';

/**
 * Reads what the caller gave for the turn. If the agent's `system` is a function, calls it once per turn. The store
 * keeps its prompt, so a function that reads a clock cannot change the prompt between two model calls.
 */
export async function briefTurn(run: RunningTurn): Promise<RunFacts['brief']> {
  const { claimed, prepared, ports } = run;
  const { conversation, turn } = claimed.lease;
  const mayBringParts = prepared.agent.accepts?.parts !== false;
  if (mayBringParts && !needsBriefing(run)) return BRIEFED;
  const briefing = await ports.turns.readBriefing(conversation, turn);
  const own = briefing.own === undefined ? {} : readTurnOwn(briefing.own);
  const refused = refuseOwn(run, own, !mayBringParts && (await hasParts(run)));
  if (refused !== undefined) return { status: 'failed', failed: refused };
  run.turnContext = readTurnContext(briefing.context);
  const failed = await promptTurn(run, briefing.system);
  if (failed !== undefined) return { status: 'failed', failed };
  return briefing.own === undefined ? BRIEFED : await adoptOwn(run, own);
}

function needsBriefing({ claimed, prepared }: RunningTurn): boolean {
  return typeof prepared.agent.system !== 'string' || claimed.hasContext === true || claimed.hasOwn === true;
}

/** @param kept prompt that an earlier claim of this turn has stored */
async function promptTurn(run: RunningTurn, kept: string | undefined): Promise<FailedEnd | undefined> {
  const { agent } = run.prepared;
  const { system, name } = agent;
  if (typeof system === 'string') return undefined;
  const written = kept ?? (await writeSystem(run, system));
  if (typeof written !== 'string') {
    return failTurn('system_failed', `agent ${name}: ${written.why}`, { agent: name });
  }
  const stored = await run.ports.turns.keepSystem(run.guard.lease, written);
  if (isLost(stored)) throw new LostTurn(stored.status);
  run.prepared = await run.prepared.withSystem(stored.system);
  run.lasting = run.prepared;
  return undefined;
}

/** Prepares the agent with what the turn brings. The turn fails if nothing is left for its messages. */
async function adoptOwn(run: RunningTurn, own: TurnOwn): Promise<RunFacts['brief']> {
  const { toolChoice, maxOutputTokens } = own;
  run.callSettings = { toolChoice, maxOutputTokens };
  run.prepared = await run.lasting.withOwn(own);
  const { policy, limits, overhead, ownTokens } = run.prepared;
  const most = policy.enabled ? limits.maxTokens : limits.usable;
  const hasBrought = ownTokens !== undefined && ownTokens.tools + ownTokens.instructions > 0;
  if (most === undefined || overhead.tokens < most || !hasBrought) return BRIEFED;
  const { tools, instructions } = ownTokens;
  const fixed = overhead.tokens - tools - instructions;
  const sum = `tools ${tools} + instructions ${instructions} of the turn, and ${fixed} tokens of the agent, are at least ${most}`;
  const why = `the turn brings too much: ${sum}, so no tokens are left for messages. Bring fewer tools or instructions`;
  const details = { toolTokens: tools, instructionTokens: instructions, agentTokens: fixed, maxTokens: most };
  return { status: 'failed', failed: failTurn('budget_infeasible', why, details) };
}

/** @returns the end of a turn that brings what its agent does not accept. Refused images and files leave the context */
function refuseOwn({ prepared, claimed }: RunningTurn, own: TurnOwn, bringsParts: boolean): FailedEnd | undefined {
  const { agent, recall } = prepared;
  const refused = findRefusedPart(agent, own, { hasParts: bringsParts, hasRecall: recall !== undefined });
  if (refused === undefined) return undefined;
  const { field, why } = refused;
  const failed = failTurn('invalid_input', `${field}: ${why}`, { field, agent: agent.name });
  return bringsParts ? leaveContext(failed, { from: claimed.inputSeq, why: 'refused' }) : failed;
}

async function hasParts({ claimed, ports }: RunningTurn): Promise<boolean> {
  const { lease, inputSeq, input } = claimed;
  if (input !== undefined) return input.parts !== undefined;
  const [entry] = await ports.contexts.readLog(lease.conversation, [{ from: inputSeq, to: inputSeq }]);
  return entry?.message.parts !== undefined;
}

const BRIEFED = { status: 'briefed' } as const;

async function writeSystem(
  { turnContext, guard, settings }: RunningTurn,
  write: SystemFunction,
): Promise<string | { readonly why: string }> {
  let written: unknown;
  try {
    written = await guard.call(settings.stepTimeoutMs, async () => await write(structuredClone(turnContext)));
  } catch (error) {
    guard.throwIfEnded();
    return { why: `the system function threw an error: ${describeThrown(error).message}` };
  }
  if (typeof written !== 'string')
    return { why: `the system function must return text, but returned ${typeof written}` };
  const bytes = Buffer.byteLength(written);
  if (bytes > MAX_MESSAGE_BYTES)
    return { why: `the system prompt has ${bytes} bytes, but its limit is ${MAX_MESSAGE_BYTES} bytes` };
  return written;
}
