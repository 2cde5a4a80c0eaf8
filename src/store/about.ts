import type { ConversationAbout } from '../domain/conversation-about.ts';
import { conversationMetadataSchema } from '../domain/conversation-about.ts';
import type { Acknowledged } from '../domain/durability.ts';
import type { ConversationRef } from '../domain/ids.ts';
import { readJsonText } from '../domain/json-text.ts';
import type { TurnMetadata } from '../domain/turn.ts';
import type { ScriptDefinition } from './script.ts';

/** Owner and title for a conversation that a write creates. An existing conversation of another owner is refused. */
export interface CreatedAbout {
  readonly owner?: string | undefined;
  readonly title?: string | undefined;
}

export function createdArgs({ owner, title }: CreatedAbout): Readonly<Record<'ownedBy' | 'title', string | undefined>> {
  return { ownedBy: owner, title };
}

/** Undefined: the value stays. null: the value is removed. */
export interface AboutChange {
  readonly owner?: string | null | undefined;
  readonly title?: string | null | undefined;
  readonly metadata?: TurnMetadata | null | undefined;
}

export interface StoredAbout extends ConversationAbout {
  readonly agent: string;
}

type AboutReply = readonly [
  agent?: string,
  owner?: string,
  title?: string,
  created?: string,
  at?: string,
  metadata?: string,
];

export const readAboutScript: ScriptDefinition<[conversation: ConversationRef], StoredAbout | undefined> = {
  file: 'read-about',
  decode: (reply) => decodeReply(reply as AboutReply),
};

type UpdateResult = { readonly status: 'updated'; readonly about: StoredAbout } | { readonly status: 'not_found' };

export const updateConversationScript: ScriptDefinition<
  [conversation: ConversationRef, change: AboutChange],
  Acknowledged<UpdateResult>
> = {
  file: 'update-conversation',
  args: ([, { owner, title, metadata }]) => ({
    newOwner: encodeChange(owner),
    newTitle: encodeChange(title),
    newMetadata: encodeChange(metadata && JSON.stringify(metadata)),
  }),
  decode: (reply) => {
    const about = decodeReply(reply as AboutReply);
    return about === undefined ? { status: 'not_found' } : { status: 'updated', about };
  },
};

function encodeChange(value: string | null | undefined): string {
  if (value === undefined) return '';
  return value === null ? '-' : `=${value}`;
}

function decodeReply([agent, ...about]: AboutReply): StoredAbout | undefined {
  return agent === undefined ? undefined : { agent, ...decodeAbout(about) };
}

/** No decision of turnfold depends on these values, so a corrupt value counts as missing. */
export function decodeAbout(
  [owner = '', title = '', created = '', at = '', metadata = '']: readonly (string | undefined)[],
  settledAt = 0,
): ConversationAbout {
  const createdAt = Math.floor(readNumber(created.split('.')[0]) * 1_000 + readNumber(created.split('.')[1]) / 1_000);
  const names = metadata === '' ? undefined : conversationMetadataSchema.safeParse(readJsonText(metadata)).data;
  return {
    ...(owner !== '' && { owner }),
    ...(title !== '' && { title }),
    ...(names !== undefined && { metadata: names }),
    createdAt,
    lastAt: readNumber(at) || Math.max(createdAt, settledAt),
  };
}

function readNumber(text = ''): number {
  const number = Number(text);
  return Number.isSafeInteger(number) && number > 0 ? number : 0;
}
