import { z } from 'zod';

/** How much of a message, which may not be in the log yet, a reader has. */
export interface OpenMessage {
  /** Characters of text. */
  text: number;
  /** Characters of reasoning. */
  reasoning: number;
  /** Number of tool calls that were started. */
  calls: number;
  /** Characters of the last started call's arguments. */
  arguments: number;
  /** Number of complete tool calls. */
  complete: number;
  /** Hash of the text, the names of the calls and the arguments above, by which a message with another text is found. */
  hash: string;
}

/**
 * Place in a turn up to which a reader has everything. Places are counted in the log, not in the stream of pieces: a
 * piece may be gone, and the log never changes.
 */
export interface StreamPosition {
  /** Number of the last log entry that the reader has whole. */
  readonly seq: number;
  /** Number of model steps in the turn up to that entry. */
  readonly step: number;
  /** Number of the last context version that was reported, or 0. */
  readonly version: number;
  /** The message after that entry, as far as the reader has it. */
  readonly open?: OpenMessage | undefined;
}

const POSITION =
  /^(\d{1,10})-(\d{1,6})-(\d{1,10})(?:-(\d{1,7})\.(\d{1,7})\.(\d{1,4})\.(\d{1,7})\.(\d{1,4})\.([0-9a-z]{1,16}))?$/;

export function writePosition({ seq, step, version, open }: StreamPosition): string {
  const whole = `${seq}-${step}-${version}`;
  if (open === undefined) return whole;
  const { text, reasoning, calls, complete, hash } = open;
  return `${whole}-${[text, reasoning, calls, open.arguments, complete, hash].join('.')}`;
}

/** Schema of the option `after`: the id of a part. */
export const positionSchema = z
  .string()
  .regex(POSITION, 'expected the id of a part')
  .transform((id): StreamPosition => {
    const [, seq, step, version, text, reasoning, calls, written, complete, hash] = POSITION.exec(id) ?? [];
    return {
      seq: Number(seq),
      step: Number(step),
      version: Number(version),
      ...(hash !== undefined && {
        open: {
          text: Number(text),
          reasoning: Number(reasoning),
          calls: Number(calls),
          arguments: Number(written),
          complete: Number(complete),
          hash,
        },
      }),
    };
  });

export const EMPTY_HASH = 0x81_1c_9d_c5;

/** FNV-1a over the UTF-16 code units of a text, continued from the hash of the text before it. */
export function hashText(text: string, before = EMPTY_HASH): number {
  let hash = before;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01_00_01_93);
  return hash >>> 0;
}
