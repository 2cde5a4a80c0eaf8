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

export const EMPTY_TEXT_HASH = 0x81_1c_9d_c5;

/** FNV-1a over the UTF-16 code units of a text, continued from the hash of the text before it. */
export function hashText(text: string, before = EMPTY_TEXT_HASH): number {
  let hash = before;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01_00_01_93);
  return hash >>> 0;
}

/** A message as far as it is known: from the pieces of a model call, or from the log. */
export interface KnownMessage {
  readonly text: string;
  readonly calls: readonly { readonly name: string; readonly arguments: string }[];
}

/** Hashes of the delivered text, of the names of the started calls, and of the last started call's arguments. */
interface Hashes {
  text: number;
  names: number;
  arguments: number;
}

const NOTHING = { text: 0, reasoning: 0, calls: 0, arguments: 0, complete: 0 };

/**
 * How much of one message a reader has. Each `take` returns what the reader does not have yet, and counts it as
 * delivered.
 */
export class DeliveredMessage {
  /** The model call whose pieces were delivered. Undefined if a reader resumed and the call is not known yet. */
  call: string | undefined;
  readonly #counts: Omit<OpenMessage, 'hash'>;
  #hashes: Hashes = { text: EMPTY_TEXT_HASH, names: EMPTY_TEXT_HASH, arguments: EMPTY_TEXT_HASH };
  /** Hash in the id from which a reader resumed. */
  #resumed: string | undefined;

  constructor(call: string | undefined, resumed?: OpenMessage) {
    const { hash, ...counts } = resumed ?? { ...NOTHING, hash: undefined };
    this.call = call;
    this.#counts = counts;
    this.#resumed = hash;
  }

  get isEmpty(): boolean {
    return Object.values(this.#counts).every((count) => count === 0);
  }

  /** The counts of this message for the id of the next part. */
  get open(): OpenMessage {
    return { ...this.#counts, hash: this.#resumed ?? joinHashes(this.#hashes) };
  }

  /** Compares a message with what was delivered of it. `short`: the recorded message is shorter. */
  compare(message: KnownMessage): 'same' | 'other' | 'short' {
    const hashes = this.#hash(message);
    if (hashes === undefined) return 'short';
    if (joinHashes(hashes) !== this.open.hash) return 'other';
    this.#hashes = hashes;
    this.#resumed = undefined;
    return 'same';
  }

  takeText({ text }: KnownMessage): string {
    const piece = text.slice(this.#counts.text);
    this.#counts.text = text.length;
    this.#hashes.text = hashText(piece, this.#hashes.text);
    return piece;
  }

  takeReasoning(reasoning: string): string {
    const piece = reasoning.slice(this.#counts.reasoning);
    this.#counts.reasoning += piece.length;
    return piece;
  }

  /** Takes further arguments of the call that was started last. */
  takeArguments({ calls }: KnownMessage): string {
    const written = calls[this.#counts.calls - 1]?.arguments ?? '';
    const piece = written.slice(this.#counts.arguments);
    this.#counts.arguments += piece.length;
    this.#hashes.arguments = hashText(piece, this.#hashes.arguments);
    return piece;
  }

  /** Takes the name of the next call that was not started. */
  takeStart({ calls }: KnownMessage): string | undefined {
    const next = calls[this.#counts.calls];
    if (next === undefined) return undefined;
    this.#counts.calls += 1;
    this.#counts.arguments = 0;
    this.#hashes.names = hashText(`${next.name}\n`, this.#hashes.names);
    this.#hashes.arguments = EMPTY_TEXT_HASH;
    return next.name;
  }

  /** Takes the index of the next call that is complete in the log. */
  takeComplete({ calls }: KnownMessage): number | undefined {
    const index = this.#counts.complete;
    if (index >= calls.length) return undefined;
    this.#counts.complete += 1;
    return index;
  }

  #hash(message: KnownMessage): Hashes | undefined {
    const { text, calls, arguments: written } = this.#counts;
    const last = message.calls[calls - 1]?.arguments ?? '';
    if (message.text.length < text || message.calls.length < calls || last.length < written) return undefined;
    const names = message.calls.slice(0, calls).map(({ name }) => `${name}\n`);
    return {
      text: hashText(message.text.slice(0, text)),
      names: hashText(names.join('')),
      arguments: hashText(last.slice(0, written)),
    };
  }
}

function joinHashes({ text, names, arguments: written }: Hashes): string {
  return hashText(`${text} ${names} ${written}`).toString(36);
}
