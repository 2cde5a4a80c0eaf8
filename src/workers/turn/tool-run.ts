import type { ToolCall } from '../../domain/message.ts';
import { StoppedWork } from '../shutdown.ts';
import { idempotencyKey, type RunningTurn } from './running-turn.ts';
import { callWithin, StepTimeout } from './step-deadline.ts';
import type { RunnableTool } from './tool-calls.ts';
import { readOutput, refuseCall, type ToolAnswer } from './tool-output.ts';

/**
 * Runs one call of a tool. Whatever the tool does, the call has an answer: a throw or a missed deadline is an error result.
 * @throws LostTurn, when the turn ends under the call; StoppedWork, when the worker does
 */
export async function runTool(
  run: RunningTurn,
  call: ToolCall,
  { tool, input }: { readonly tool: RunnableTool; readonly input: unknown },
): Promise<ToolAnswer> {
  const { keeper, ports, settings } = run;
  const { conversation, turn } = keeper.lease;
  const stop = ports.shutdown.callsEnd;
  const timeoutMs = tool.timeoutMs ?? settings.stepTimeoutMs;
  const deadline = { timers: ports.timers, timeoutMs, signal: keeper.signal, stop };
  const key = idempotencyKey(run, call.id);
  try {
    const given = await callWithin(deadline, async (signal) =>
      tool.run(input, {
        tenant: conversation.tenant,
        conversation: conversation.id,
        turn,
        context: structuredClone(run.given),
        idempotencyKey: key,
        signal,
      }),
    );
    return readOutput(given);
  } catch (error) {
    keeper.signal.throwIfAborted();
    // Its error may be the abort's: nobody knows what it did.
    if (stop.aborted) throw new StoppedWork();
    if (error instanceof StepTimeout) return refuseCall('timeout', error.message);
    return refuseCall('failed', error instanceof Error ? error.message : String(error));
  }
}
