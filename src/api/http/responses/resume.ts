import type { ResponseEvent } from './events.ts';

/** @param after number of the reader's last event. It may lie within the text of this event. */
export function skipRead(event: ResponseEvent, after: number): ResponseEvent | undefined {
  const { sequence_number: place, delta } = event;
  if (place <= after) return undefined;
  if (typeof delta !== 'string' || event.type === 'response.function_call_arguments.delta') return event;
  const known = after - (place - delta.length);
  return known > 0 ? { ...event, delta: delta.slice(known) } : event;
}
