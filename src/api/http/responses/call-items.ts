import type { WaitingCall } from '../../../domain/turn.ts';
import type { CallPart, ResultPart } from '../../client/index.ts';
import { nameCall } from '../front-end/call-names.ts';
import type { OutputItem } from './response-object.ts';

const SERVER = { server_label: 'turnfold' };

/** Writes a call that a worker ran, so that the caller does not run it again. */
export function writeResult(
  { call, name, arguments: written }: CallPart,
  { content, isError }: Pick<ResultPart, 'content' | 'isError'>,
): OutputItem {
  return {
    id: `mcp_${call}`,
    type: 'mcp_call',
    ...SERVER,
    name,
    arguments: written,
    output: isError ? null : content,
    error: isError ? content : null,
    status: isError ? 'failed' : 'completed',
  };
}

/** Writes a call that waits for the caller's result. */
export function writeCall(call: WaitingCall): OutputItem & Pick<WaitingCall, 'name' | 'arguments'> {
  const { id, name, arguments: written } = call;
  return {
    id: `fc_${id}`,
    type: 'function_call',
    call_id: nameCall(call),
    name,
    arguments: written,
    status: 'completed',
  };
}

/** Writes the request for a decision, with the input that will run, and the decision if someone has taken it. */
export function writeApproval(call: WaitingCall): OutputItem[] {
  const { name, arguments: written, input = written, decision } = call;
  const id = nameCall(call);
  const request = { id, type: 'mcp_approval_request', ...SERVER, name, arguments: input };
  if (decision?.approved === undefined) return [request];
  const { approved: approve } = decision;
  return [request, { id: `mcpr_${id}`, type: 'mcp_approval_response', approval_request_id: id, approve }];
}
