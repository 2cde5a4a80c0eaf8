import type { DestinationStream } from 'pino';
import { escapeActing } from '../domain/visible-text.ts';

/** A line as createLogger writes it. */
interface Line extends Readonly<Record<string, unknown>> {
  readonly level: string;
  readonly time: number;
  readonly msg?: string;
}

/** On every line alike: nothing that a person at a terminal reads for. */
const HIDDEN = new Set(['level', 'time', 'pid', 'hostname', 'msg', 'event']);

/** Log lines for a terminal: `12:00:00.000 INFO  turn completed conversation=c1 turn=t1 durationMs=12`. */
export function prettyLines(destination: DestinationStream): DestinationStream {
  return { write: (line) => destination.write(`${escapeActing(formatLine(JSON.parse(line) as Line))}\n`) };
}

function formatLine(line: Line): string {
  const time = new Date(line.time).toISOString().slice(11, 23);
  const fields = Object.entries(line).filter(([key]) => !HIDDEN.has(key));
  const shown = fields.map(([key, value]) => ` ${key}=${formatValue(value)}`).join('');
  return `${time} ${line.level.toUpperCase().padEnd(5)} ${line.msg ?? ''}${shown}`;
}

/** Quoted where its end could not be seen. */
function formatValue(value: unknown): string {
  return typeof value === 'string' && /^[\w.:@/-]+$/.test(value) ? value : JSON.stringify(value);
}
