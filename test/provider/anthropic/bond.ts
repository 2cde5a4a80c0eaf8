import { isObject, type JsonObject, readText } from '../json.ts';
import { type Bond, canonicalize } from '../seals.ts';
import { isThinking, readTurns, toBlocks } from './turns.ts';

/**
 * Returns the contents of the request for which a thinking block is valid: everything before it. Cache breakpoints, and
 * borders between messages of one role, do not count.
 */
export function bondOf(body: JsonObject, turnIndex: number, blockIndex: number): Bond {
  const turns = readTurns(body).slice(0, turnIndex + 1);
  const before = turns.flatMap(({ role, index, blocks }) =>
    blocks.slice(0, index === turnIndex ? blockIndex : undefined).map((placed) => ({ ...placed, role })),
  );
  const previous = before.findLast(isThinking)?.block;
  const said = before.filter((placed) => !isThinking(placed)).map(({ role, block }) => ({ ...block, role }));
  const { system, tools } = body;
  return {
    thinking: readText(turns[turnIndex]?.blocks[blockIndex]?.block['thinking']),
    previous: readText(previous?.['signature'] ?? previous?.['data']),
    system: canonicalize(withoutMarks(system === undefined ? [] : toBlocks(system))),
    tools: canonicalize(withoutMarks(tools ?? [])),
    messages: canonicalize(withoutMarks(said)),
  };
}

function withoutMarks(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutMarks);
  if (!isObject(value)) return value;
  const kept = Object.entries(value).filter(([key]) => key !== 'cache_control');
  return Object.fromEntries(kept.map(([key, member]) => [key, withoutMarks(member)]));
}
