import { z } from 'zod';
import { parseInput } from '../domain/parse.ts';
import type { OpenTurns } from '../domain/ports/turn-store.ts';
import { type ConversationName, readConversationName } from './input.ts';
import { noConversation } from './not-found.ts';
import type { ClientPorts } from './ports.ts';

const openTurnsSchema = z.strictObject({
  /** so many turns at most; how many there are is told in any case */
  limit: z.number().int().min(1).max(1_000).default(100),
});

export type OpenTurnsInput = z.input<typeof openTurnsSchema>;

/** Turns that are accepted and not settled, as they stand at one moment. @throws invalid_input, not_found */
export async function listOpenTurns(
  ports: ClientPorts,
  name: ConversationName,
  input: OpenTurnsInput = {},
): Promise<OpenTurns> {
  const conversation = readConversationName(name);
  const { limit } = parseInput(openTurnsSchema, input);
  const open = await ports.turns.listOpen(conversation, limit);
  if (open === undefined) throw noConversation(conversation);
  return open;
}
