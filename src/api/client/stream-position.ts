import { z } from 'zod';

interface OpenMessage {
  text: number;
  reasoning: number;
  calls: number;
  /** Characters of the last started call's arguments. */
  arguments: number;
  complete: number;
  /** Recognizes a message whose text, call names or arguments differ, and behind these 7 characters its reasoning. */
  hash: string;
}

/** Counts the log, not the stream: pieces of the stream may be gone, and the log never changes. */
export interface StreamPosition {
  readonly seq: number;
  readonly step: number;
  readonly version: number;
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

const EMPTY_TEXT_HASH = 0x81_1c_9d_c5;

/** FNV-1a over UTF-16 code units, continued from the hash of the text before. */
function hashText(text: string, before = EMPTY_TEXT_HASH): number {
  let hash = before;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01_00_01_93);
  return hash >>> 0;
}

export interface KnownMessage {
  readonly text: string;
  /** Absent if the message may lack reasoning that readers have. */
  readonly reasoning?: string;
  readonly calls: readonly { readonly name: string; readonly arguments: string }[];
}

interface Hashes {
  text: number;
  /** Undefined if the reasoning is not known. */
  reasoning: number | undefined;
  names: number;
  arguments: number;
}

const NOTHING = { text: 0, reasoning: 0, calls: 0, arguments: 0, complete: 0 };

/** Counts what a reader has of a message. Each `take` returns what the reader lacks, and counts it as delivered. */
export class DeliveredMessage {
  call: string | undefined;
  readonly #counts: Omit<OpenMessage, 'hash'>;
  #hashes: Hashes = {
    text: EMPTY_TEXT_HASH,
    reasoning: EMPTY_TEXT_HASH,
    names: EMPTY_TEXT_HASH,
    arguments: EMPTY_TEXT_HASH,
  };
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

  get open(): OpenMessage {
    const { reasoning } = this.#counts;
    return { ...this.#counts, hash: this.#resumed ?? joinHashes(this.#hashes, reasoning > 0) };
  }

  /** `short`: the message is shorter than what was delivered of it. */
  compare(message: KnownMessage): 'same' | 'other' | 'short' {
    const hashes = this.#hash(message);
    if (hashes === undefined) return 'short';
    if (!isSame(joinHashes(hashes, this.#counts.reasoning > 0), this.open.hash)) return 'other';
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
    const { reasoning: before } = this.#hashes;
    this.#hashes.reasoning = before === undefined ? undefined : hashText(piece, before);
    return piece;
  }

  takeArguments({ calls }: KnownMessage): string {
    const written = calls[this.#counts.calls - 1]?.arguments ?? '';
    const piece = written.slice(this.#counts.arguments);
    this.#counts.arguments += piece.length;
    this.#hashes.arguments = hashText(piece, this.#hashes.arguments);
    return piece;
  }

  takeStart({ calls }: KnownMessage): string | undefined {
    const next = calls[this.#counts.calls];
    if (next === undefined) return undefined;
    this.#counts.calls += 1;
    this.#counts.arguments = 0;
    this.#hashes.names = hashText(`${next.name}\n`, this.#hashes.names);
    this.#hashes.arguments = EMPTY_TEXT_HASH;
    return next.name;
  }

  takeComplete({ calls }: KnownMessage): number | undefined {
    const index = this.#counts.complete;
    if (index >= calls.length) return undefined;
    this.#counts.complete += 1;
    return index;
  }

  #hash(message: KnownMessage): Hashes | undefined {
    const { text, reasoning, calls, arguments: written } = this.#counts;
    const last = message.calls[calls - 1]?.arguments ?? '';
    if (message.text.length < text || message.calls.length < calls || last.length < written) return undefined;
    if (message.reasoning !== undefined && message.reasoning.length < reasoning) return undefined;
    const names = message.calls.slice(0, calls).map(({ name }) => `${name}\n`);
    return {
      text: hashText(message.text.slice(0, text)),
      reasoning: message.reasoning === undefined ? undefined : hashText(message.reasoning.slice(0, reasoning)),
      names: hashText(names.join('')),
      arguments: hashText(last.slice(0, written)),
    };
  }
}

const HASH_CHARACTERS = 7;

function joinHashes({ text, reasoning, names, arguments: written }: Hashes, hasReasoning: boolean): string {
  const hash = hashText(`${text} ${names} ${written}`).toString(36);
  if (!hasReasoning || reasoning === undefined) return hash;
  return `${hash.padStart(HASH_CHARACTERS, '0')}${reasoning.toString(36)}`;
}

/** Compares the reasoning only if both hashes have it. */
function isSame(first: string, second: string): boolean {
  const [texts, others] = [first, second].map((hash) => hash.slice(0, HASH_CHARACTERS).padStart(HASH_CHARACTERS, '0'));
  const [reasoning, other] = [first, second].map((hash) => hash.slice(HASH_CHARACTERS));
  return texts === others && (reasoning === '' || other === '' || reasoning === other);
}
