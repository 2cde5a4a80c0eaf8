import { fieldError } from '../../../domain/errors.ts';
import { idSchema } from '../../../domain/ids.ts';
import type { Mode } from '../front-end/part-table.ts';

/** State of a `ChunkTable` between two parts, so that another response can go on. */
export interface TableState {
  /** Number of the open model step. 0: none is open. */
  readonly step: number;
  /** Kinds of text that are open in the step. */
  readonly open: readonly Mode[];
  /** Names of the calls of which only the beginning is shown, by id. */
  readonly previews: ReadonlyMap<string, string>;
}

/** Place behind the last chunk that a page has. The page sends it back after a lost connection. */
export interface ChunkPosition {
  readonly turn: string;
  /** Id of the last part. Empty: the page has no part. */
  readonly part: string;
  /** True if the page has the chunk `start`. */
  readonly hasBegun: boolean;
  readonly table: TableState;
}

/** A longer position stands in no header. The page then keeps the position before. */
const MAX_CHARACTERS = 2_000;
const MAX_STEP = 999_999;
const STATE =
  /^(?<begun>s?)(?<step>\d{1,6})(?<reasoning>r?)(?<text>t?)(?<calls>(?:![\w.-]{1,256}=[\w-]{1,128}){0,64})$/;

/** @returns undefined if the position would be too long */
export function writeChunkPosition({ turn, part, hasBegun, table }: ChunkPosition): string | undefined {
  const { step, open, previews } = table;
  const modes = `${open.includes('reasoning') ? 'r' : ''}${open.includes('text') ? 't' : ''}`;
  const calls = [...previews].map(([call, name]) => `!${call}=${name}`).join('');
  const state = `${hasBegun ? 's' : ''}${step}${modes}${calls}`;
  const written = `${turn}~${part}~${state}`;
  return written.length > MAX_CHARACTERS || step > MAX_STEP || !STATE.test(state) ? undefined : written;
}

/** @throws invalid_input */
export function readChunkPosition(text: string, field: string): ChunkPosition {
  const [turn = '', part = '', state = '', ...others] = text.split('~');
  const { begun, step, reasoning, text: words, calls } = STATE.exec(state)?.groups ?? {};
  if (text.length > MAX_CHARACTERS || step === undefined || others.length > 0 || !idSchema.safeParse(turn).success) {
    throw fieldError('invalid_input', field, 'expected the id of an event of the stream, unchanged');
  }
  const pairs = (calls ?? '').split('!').filter((pair) => pair !== '');
  const open: Mode[] = [
    ...(reasoning === 'r' ? (['reasoning'] as const) : []),
    ...(words === 't' ? (['text'] as const) : []),
  ];
  const previews = new Map(pairs.map((pair) => pair.split('=', 2) as [string, string]));
  return { turn, part, hasBegun: begun === 's', table: { step: Number(step), open, previews } };
}
