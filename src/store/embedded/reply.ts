/** A reply of Redis. Each UTF-16 unit of a text is one byte (latin1). */
export type Reply = string | number | null | Status | readonly Reply[];

export class Status {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export const OK = new Status('OK');

export class ReplyError extends Error {}

/** Encodes a reply in the protocol of Redis, version 2. */
export function encodeReply(reply: Reply | ReplyError): string {
  if (reply === null) return '$-1\r\n';
  if (typeof reply === 'string') return `$${reply.length}\r\n${reply}\r\n`;
  if (typeof reply === 'number') return `:${reply}\r\n`;
  if (reply instanceof Status) return `+${reply.text}\r\n`;
  if (reply instanceof ReplyError) return `-${reply.message.replaceAll(/[\r\n]+/g, ' ')}\r\n`;
  return `*${reply.length}\r\n${reply.map(encodeReply).join('')}`;
}
