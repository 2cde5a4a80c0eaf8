import type { AgUiEvent } from './events.ts';

/**
 * Form of the events. CopilotKit and assistant-ui install `@ag-ui/client` 0.0.59, whose schema is strict. This client
 * ends a run with an error at a field of 1.0 that it does not know. `older` has no such field.
 */
export type EventForm = '1.0' | 'older';

/** Only clients of 1.0 and later name the version of the protocol. */
export function readEventForm(protocolVersion: string | undefined): EventForm {
  return protocolVersion === undefined ? 'older' : '1.0';
}

export function convertToForm(event: AgUiEvent, form: EventForm): AgUiEvent {
  if (form === '1.0') return event;
  if (event.type === 'RUN_STARTED') {
    const { protocolVersion: _version, ...rest } = event;
    return rest;
  }
  return event.type === 'RUN_FINISHED' ? convertFinish(event) : event;
}

interface Outcome {
  readonly type?: string;
  readonly pendingToolCallIds?: unknown;
}

function convertFinish({ outcome = {}, ...event }: AgUiEvent & { readonly outcome?: Outcome }): AgUiEvent {
  const { pendingToolCallIds: calls, ...known } = outcome;
  // This form has no outcome for a stop. A front-end keeps the text, and shows no error.
  if (known.type === 'cancelled') return { ...event, result: { state: 'canceled' } };
  // With an outcome, assistant-ui takes the run for complete, and never sends the results of its tools.
  return known.type === undefined || calls !== undefined ? event : { ...event, outcome: known };
}
