import type { SystemFunction } from '../../domain/agent.ts';
import { MAX_MESSAGE_BYTES } from '../../domain/message.ts';
import { isLost } from '../../domain/ports/turn-store.ts';
import { describeThrown } from '../../domain/thrown.ts';
import { readContext, type TurnContext } from '../../domain/turn-context.ts';
import { StoppedWork } from '../shutdown.ts';
import { LostTurn } from './lost-turn.ts';
import type { RunningTurn } from './running-turn.ts';
import { callWithin } from './step-deadline.ts';
import { failTurn, type TurnEnd } from './turn-end.ts';

/**
 * Reads what the caller gave the turn, and writes its system prompt where a function does. A prompt is written once a turn: the
 * store keeps it for the claims that go on with the turn, so a function that reads a clock cannot change it between two steps.
 * @returns the turn as it goes on; its failure where the function brought no prompt
 * @throws LostTurn
 */
export async function briefTurn(run: RunningTurn): Promise<RunningTurn | TurnEnd> {
  const { claimed, prepared, ports } = run;
  const { conversation, turn } = claimed.lease;
  const { system, name } = prepared.agent;
  if (typeof system === 'string' && claimed.hasContext !== true) return run;
  const briefing = await ports.turns.readBriefing(conversation, turn);
  const briefed = { ...run, given: readContext(briefing.context) };
  if (typeof system === 'string') return briefed;
  const written = briefing.system ?? (await writeSystem(briefed, system));
  if (typeof written !== 'string') return failTurn('system_failed', `agent ${name}: ${written.why}`, { agent: name });
  const kept = await ports.turns.keepSystem(run.keeper.lease, written);
  if (isLost(kept)) throw new LostTurn(kept.status);
  return { ...briefed, prepared: await prepared.withSystem(kept.system) };
}

async function writeSystem(
  { turnContext: given, keeper, ports, settings }: RunningTurn & { readonly given: TurnContext },
  write: SystemFunction,
): Promise<string | { readonly why: string }> {
  const stop = ports.shutdown.callsEnd;
  const deadline = { timers: ports.timers, timeoutMs: settings.stepTimeoutMs, signal: keeper.signal, stop };
  let written: unknown;
  try {
    written = await callWithin(deadline, async () => await write(structuredClone(given)));
  } catch (error) {
    keeper.signal.throwIfAborted();
    if (stop.aborted) throw new StoppedWork();
    return { why: `its system prompt could not be written: ${describeThrown(error).message}` };
  }
  if (typeof written !== 'string') return { why: `its system prompt is no text but ${typeof written}` };
  const bytes = Buffer.byteLength(written);
  if (bytes > MAX_MESSAGE_BYTES) return { why: `its system prompt has ${bytes} bytes, at most ${MAX_MESSAGE_BYTES}` };
  return written;
}
