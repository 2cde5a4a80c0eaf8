import type { ToolContext } from '../../domain/agent.ts';
import type { ToolCall } from '../../domain/message.ts';
import { describeThrown } from '../../domain/thrown.ts';
import { StoppedWork } from '../shutdown.ts';
import { idempotencyKey, type RunningTurn } from './running-turn.ts';
import { callWithin, type StepTimeout } from './step-deadline.ts';
import type { RunnableTool } from './tool-calls.ts';
import { readOutput, refuseCall, type ToolAnswer } from './tool-output.ts';

/** A model reads the message: a stack trace or a refused document would only take its place. */
const TOOL_ERROR_CHARACTERS = 16_000;

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
  const context = {
    tenant: conversation.tenant,
    conversation: conversation.id,
    turn,
    context: structuredClone(run.turnContext),
    idempotencyKey: idempotencyKey(run, call.id),
  };
  try {
    return await callWithin(deadline, (signal) => runSafely(tool, input, { ...context, signal }));
  } catch (error) {
    keeper.signal.throwIfAborted();
    // Its error may be the abort's: nobody knows what it did.
    if (stop.aborted) throw new StoppedWork();
    return refuseCall('timeout', (error as StepTimeout).message);
  }
}

/** The border to code that anybody may have written. Throws only after its signal has aborted. */
async function runSafely(tool: RunnableTool, input: unknown, context: ToolContext): Promise<ToolAnswer> {
  try {
    return readOutput(await tool.run(input, context));
  } catch (error) {
    if (context.signal.aborted) throw error;
    return refuseCall('failed', describeThrown(error, TOOL_ERROR_CHARACTERS).message);
  }
}
